/* common/sampling.c - sampling options. */
#include "common/sampling.h"
#include <infer/param.h>
#include "base/err.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#define AT(f) offsetof(struct sampling_args, f)
static const struct opt breaker_row = {
	OPT_LIST,
	0,
	"dry-sequence-breaker",
	"STR",
	"text at which DRY ends a repetition; none: no text (newline : \" *)",
	AT(breakers),
	.marks = OPT_SERVER,
};
static const struct opt other_rows[] = {
	{ OPT_STR, 0, "samplers", "LIST",
	  "the stages and their order, separated by commas or semicolons", AT(samplers),
	  .marks = OPT_SERVER, .values = "@stages" },
	{ OPT_LIST, 0, "logit-bias", "ID=B",
	  "add B to the logit of token ID; -inf: never; may be given more than once", AT(bias),
	  .marks = OPT_SERVER },
	{ OPT_BITS, 0, "seed", "N", "begin the random numbers at N (random, and reported)",
	  AT(seed), .marks = OPT_SERVER },
};

static struct opt number_row(const struct infer_sample_param *p, int i)
{
	return (struct opt){
		.kind = OPT_NUM_GIVEN,
		.name = p->option,
		.arg = p->arg,
		.help = p->help,
		.at = AT(numbers) + (size_t)i * sizeof(struct opt_number),
		.lo = p->range.lo,
		.hi = p->range.hi,
		.usual = p->usual,
		.marks = OPT_SERVER | (p->range.above ? OPT_ABOVE_LO : 0) |
		         (p->whole ? OPT_WHOLE : 0) |
		         (p->at == offsetof(struct infer_sample_opts, temp) ? OPT_COMMON : 0),
	};
}
#undef AT

int sampling_rows(struct opt *to, int room, size_t at)
{
	const struct infer_sample_param *p;
	int n = 0;

	for (int i = 0; (p = infer_sample_param(i)); i++) {
		must(i < SAMPLING_NUMBERS && n + 2 <= room);
		if (p->option)
			to[n++] = number_row(p, i);
		if (p->at == offsetof(struct infer_sample_opts, dry_window))
			to[n++] = breaker_row; /* next to the other options of DRY */
	}
	for (size_t i = 0; i < sizeof other_rows / sizeof *other_rows; i++) {
		must(n < room);
		to[n++] = other_rows[i];
	}
	for (int i = 0; i < n; i++)
		to[i].at += at;
	return n;
}

static int set_defaults(struct infer_sample_opts *o, infer_error *err)
{
	const struct infer_sample_param *p;

	for (int i = 0; (p = infer_sample_param(i)); i++)
		TRY(infer_sample_set(o, p, p->usual, err));
	return INFER_OK;
}

/* Set the numbers that the model file recommends. */
static int set_recommended(struct infer_sample_opts *o, const infer_file *file, infer_error *err)
{
	const struct infer_sample_param *p;

	for (int i = 0; (p = infer_sample_param(i)); i++) {
		char key[64];
		double v = 0;
		int found = 0;

		if (!p->key)
			continue;
		snprintf(key, sizeof key, "general.sampling.%s", p->key);
		TRY(infer_meta_f64(file, key, &v, &found, err));
		if (found && infer_sample_set(o, p, v, NULL))
			return err_set(err, INFER_EFORMAT,
			               "%s: %s: %g is out of range (%s%g ... %g)",
			               infer_file_path(file), key, v,
			               p->range.above ? "above " : "", p->range.lo, p->range.hi);
	}
	return INFER_OK;
}

/* Parse names of stages, separated by commas or semicolons. code: error code to use; from, name: the
 * source of the names, for messages. */
static int take_stages(struct infer_sample_opts *o, const char *at, size_t n, int code,
                       const char *from, const char *name, infer_error *err)
{
	int count = 0;

	memset(o->order, 0, sizeof o->order);
	for (size_t i = 0; i < n;) {
		size_t len = 0;

		while (i + len < n && at[i + len] != ',' && at[i + len] != ';')
			len++;
		int stage = infer_stage_named(at + i, len);

		if (stage == INFER_STAGE_END)
			return err_set(err, code, "%s%s: no stage '%.*s'", from, name,
			               (int)(len < 40 ? len : 40), at + i);
		for (int k = 0; k < count; k++)
			if (o->order[k] == stage)
				return err_set(err, code, "%s%s names %s twice", from, name,
				               infer_stage_name(stage));
		/* no stage occurs twice, so the stages and a terminator fit */
		o->order[count++] = (uint8_t)stage;
		i += len + 1;
	}
	return INFER_OK;
}

/* Set the order of the stages from the key general.sampling.sequence. */
static int take_sequence(struct infer_sample_opts *o, const infer_file *file, infer_error *err)
{
	static const char key[] = "general.sampling.sequence";
	struct infer_str s = { "", 0 };
	char from[256];

	TRY(infer_meta_str(file, key, &s, NULL, err));
	snprintf(from, sizeof from, "%s: ", infer_file_path(file));
	return take_stages(o, s.at, s.len, INFER_EUNSUP, from, key, err);
}

static int take_numbers(struct infer_sample_opts *o, const struct sampling_args *a,
                        infer_error *err)
{
	const struct infer_sample_param *p;

	for (int i = 0; (p = infer_sample_param(i)); i++)
		if (a->numbers[i].given)
			TRY(infer_sample_set(o, p, a->numbers[i].value, err));
	return INFER_OK;
}

/* Parse a token id of the model at the start of `text`. *end: the text after it. */
static int parse_token_id(int32_t *id, const char *text, char **end, const char *option,
                          const infer_model *model, infer_error *err)
{
	struct infer_model_info info;
	size_t digits = strspn(text, "0123456789");

	infer_model_info(model, &info);
	if (!digits)
		return err_set(err, INFER_EINVAL, "%s: '%.40s' does not begin with a token id",
		               option, text);
	long long v = digits < 12 ? strtoll(text, NULL, 10) : INT64_MAX;

	if (v >= info.n_vocab)
		return err_set(err, INFER_EINVAL, "%s: %.40s: the vocabulary has %d tokens", option,
		               text, (int)info.n_vocab);
	*id = (int32_t)v;
	*end = (char *)(size_t)(text + digits);
	return INFER_OK;
}

int sampling_ids(int32_t **ids, const struct opt_list *words, const char *option,
                 const infer_model *model, struct arena *mem, infer_error *err)
{
	char *end = NULL;

	*ids = arena_alloc(mem, (size_t)words->n, sizeof **ids);
	if (!*ids)
		return err_nomem(err);
	for (int i = 0; i < words->n; i++) {
		TRY(parse_token_id(&(*ids)[i], words->at[i], &end, option, model, err));
		if (*end)
			return err_set(err, INFER_EINVAL, "%s: '%.40s' is not a token id", option,
			               words->at[i]);
	}
	return INFER_OK;
}

/* Parse "ID=B". */
static int parse_bias(struct infer_logit_bias *b, const char *text, const infer_model *model,
                      infer_error *err)
{
	char *at, *end = NULL;

	TRY(parse_token_id(&b->token, text, &at, "--logit-bias", model, err));
	const char *number = *at == '=' ? at + 1 : "";
	double v = strcmp(number, "-inf") ? strtod(number, &end) : -INFINITY;

	if (!*number || (end && (*end || number[strspn(number, "0123456789+-.eE")])))
		return err_set(err, INFER_EINVAL,
		               "--logit-bias: '%.40s' is not ID=B, a token id and a number", text);
	if (v != -INFINITY && !(v >= -1e6 && v <= 1e6))
		return err_set(err, INFER_EINVAL,
		               "--logit-bias: %.40s is out of range (-1e6 ... 1e6, or -inf)", text);
	b->bias = (float)v;
	return INFER_OK;
}

static int take_biases(struct sampling *s, const struct opt_list *words, const infer_model *model,
                       infer_error *err)
{
	struct infer_logit_bias *bias = arena_alloc(&s->mem, (size_t)words->n, sizeof *bias);

	if (!bias)
		return err_nomem(err);
	for (int i = 0; i < words->n; i++)
		TRY(parse_bias(&bias[i], words->at[i], model, err));
	s->o.bias = bias;
	s->o.n_bias = words->n;
	return INFER_OK;
}

/* Set the sequence breakers of DRY: the texts, and their tokens if DRY is on. */
static int take_breakers(struct sampling *s, const struct opt_list *words, const infer_model *model,
                         infer_error *err)
{
	static const struct infer_str usual[] = {
		{ "\n", 1 }, { ":", 1 }, { "\"", 1 }, { "*", 1 }
	};
	struct infer_str *given = arena_alloc(&s->mem, (size_t)words->n, sizeof *given);
	size_t n = 0;

	if (!given)
		return err_nomem(err);
	s->breaker_texts = words->n ? given : usual;
	for (int i = 0; i < words->n; i++)
		if (!strcmp(words->at[i], "none"))
			n = 0;
		else
			given[n++] = (struct infer_str){ words->at[i], strlen(words->at[i]) };
	s->n_breaker_texts = words->n ? n : sizeof usual / sizeof *usual;
	if (!(s->o.dry_multiplier > 0))
		return INFER_OK;
	TRY(infer_breakers_new(&s->breakers, infer_model_tokenizer(model), s->breaker_texts,
	                       s->n_breaker_texts, err));
	infer_breakers_use(s->breakers, &s->o);
	return INFER_OK;
}

int sampling_take(struct sampling *out, const struct sampling_args *a, const infer_model *model,
                  infer_error *err)
{
	struct infer_sample_opts *o = &out->o;
	const infer_file *file = infer_model_file(model);

	*out = (struct sampling){ 0 };
	arena_init(&out->mem, MEM_BASE);
	TRY(set_defaults(o, err));
	TRY(set_recommended(o, file, err));
	TRY(take_sequence(o, file, err));
	TRY(take_numbers(o, a, err));
	infer_sample_resolve(o);
	if (a->samplers)
		TRY(take_stages(o, a->samplers, strlen(a->samplers), INFER_EINVAL, "", "--samplers",
		                err));
	TRY(take_biases(out, &a->bias, model, err));
	TRY(take_breakers(out, &a->breakers, model, err));
	o->seed = a->seed.value;
	if (a->seed.given)
		return INFER_OK;
	TRY(rng_system(&o->seed, err));
	o->seed >>= 11; /* 53 bits: JSON readers that use doubles preserve the number */
	return INFER_OK;
}

void sampling_fini(struct sampling *s)
{
	infer_breakers_free(s->breakers);
	arena_fini(&s->mem);
	*s = (struct sampling){ 0 };
}
