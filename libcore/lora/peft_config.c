/* lora/peft_config.c - read adapter_config.json of PEFT.
 * https://github.com/huggingface/peft: LoraConfig */
#include "lora/peft.h"
#include "automata/regex.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/jread.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* PATTERNS: members of rank_pattern and of alpha_pattern */
enum { PATTERNS = 100000 };

int peft_config_fail(const infer_lora *l, int code, infer_error *err, const char *fmt, ...)
{
	char what[200];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof what, fmt, args);
	va_end(args);
	return err_set(err, code, "%s: " PEFT_CONFIG ": %s", file_label(l->info.path), what);
}

/* --- members */

/* Members without an effect on the values: the tensors say which modules have a change. */
static const char *const ignored[] = {
	"task_type", "auto_mapping", "peft_version", "base_model_name_or_path", "revision",
	"inference_mode", "target_modules", "exclude_modules", "lora_dropout",
	"layers_to_transform", "layers_pattern", "megatron_core", "runtime_config",
	"qalora_group_size", "eva_config", "loftq_config", "lora_ga_config", "corda_config",
	/* read by read_members */
	"peft_type", "r", "lora_alpha", "use_rslora", "fan_in_fan_out", "bias", "init_lora_weights",
	"rank_pattern", "alpha_pattern", "modules_to_save", "target_parameters",
	"ensure_weight_tying"
};

/* Members that are refused unless they are null, false or empty. */
static const struct {
	const char *key, *what;
} refused[] = {
	{ "use_dora", "DoRA" },
	{ "alora_invocation_tokens", "an activated LoRA (aLoRA)" },
	{ "lora_bias", "a bias" },
	{ "trainable_token_indices", "trained tokens" },
	{ "use_qalora", "QALoRA" },
	{ "megatron_config", "a model of Megatron" },
	{ "layer_replication", "repeated layers" },
	{ "use_bdlora", "BD-LoRA" },
	{ "arrow_config", "Arrow routing" },
	{ "kasa_config", "KaSA" },
	{ "monteclora_config", "MonteCLoRA" },
	{ "velora_config", "VeLoRA" },
};

/* Initialisations that leave the weights of the base model as they are. */
static const char *const plain_inits[] = { "gaussian", "eva", "orthogonal", "mica" };

static int is_neutral(const struct json *v)
{
	return json_is_null(v) || json_is(v, JSON_FALSE) ||
	       ((json_is_array(v) || json_is_object(v)) && !json_count(v));
}

static int key_is(const struct json *v, const char *key)
{
	return lora_str_is((struct infer_str){ v->key, v->key_n }, key);
}

/* Refuse a member that could change results: a known one by what it means. */
static int check_member(const infer_lora *l, const struct json *v, infer_error *err)
{
	char name[FILE_QUOTE];

	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		if (key_is(v, ignored[i]))
			return INFER_OK;
	if (is_neutral(v))
		return INFER_OK;
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		if (key_is(v, refused[i].key))
			return peft_config_fail(l, INFER_EUNSUP, err, "%s: %s is not supported",
			                        refused[i].key, refused[i].what);
	return peft_config_fail(l, INFER_EUNSUP, err, "member %s is not known",
	                        file_quote(name, v->key, v->key_n));
}

static struct infer_str str_of(const struct json *v)
{
	return (struct infer_str){ json_str(v), json_bytes(v) };
}

static int check_words(const infer_lora *l, const struct json *o, infer_error *err)
{
	const struct json *type = json_get(o, "peft_type"), *bias = json_get(o, "bias"),
			  *init = json_get(o, "init_lora_weights");
	char word[FILE_QUOTE];

	if (!json_is_string(type))
		return peft_config_fail(l, INFER_EFORMAT, err, "peft_type must be a string");
	if (!lora_str_is(str_of(type), "LORA"))
		return peft_config_fail(l, INFER_EUNSUP, err, "peft_type must be LORA, not %s",
		                        file_quote(word, type->s, type->n));
	if (bias && !json_is_null(bias) && !lora_str_is(str_of(bias), "none"))
		return peft_config_fail(l, INFER_EUNSUP, err,
		                        "bias must be none, not %s: trained biases are not "
		                        "supported",
		                        file_quote(word, json_str(bias), json_bytes(bias)));
	if (!json_is_string(init))
		return init && !json_is_bool(init) && !json_is_null(init)
		               ? peft_config_fail(l, INFER_EFORMAT, err,
		                                  "init_lora_weights must be a boolean or a string")
		               : INFER_OK;
	for (size_t i = 0; i < sizeof plain_inits / sizeof *plain_inits; i++)
		if (lora_str_is(str_of(init), plain_inits[i]))
			return INFER_OK;
	return peft_config_fail(
		l, INFER_EUNSUP, err,
		"init_lora_weights %s changes the base model: save the adapter as a plain LoRA "
		"(path_initial_model_for_weight_conversion)",
		file_quote(word, init->s, init->n));
}

static int check_bool(const infer_lora *l, const struct json *o, const char *key, int *v,
                      infer_error *err)
{
	const struct json *at = json_get(o, key);

	*v = json_is(at, JSON_TRUE);
	return at && !json_is_null(at) && !json_is_bool(at)
	               ? peft_config_fail(l, INFER_EFORMAT, err, "%s must be true or false", key)
	               : INFER_OK;
}

static int check_names(const infer_lora *l, const struct json *o, const char *key,
                       const struct json **v, infer_error *err)
{
	const struct json *at = json_get(o, key);
	int bad = at && !json_is_null(at) && !json_is_array(at);

	json_each(name, json_is_array(at) ? at : NULL)
		bad |= !json_is_string(name);
	*v = json_is_array(at) ? at : NULL;
	return bad ? peft_config_fail(l, INFER_EFORMAT, err, "%s must be an array of strings", key)
	           : INFER_OK;
}

/* --- patterns */

/* Compile a pattern as PEFT matches it: any components, a dot, and the expression, to the end. */
static int compile_module_pattern(const infer_lora *l, const struct json *v, struct dfa **out,
                                  struct budget *left, infer_error *err)
{
	infer_error why = { 0 };
	char name[FILE_QUOTE];
	struct buf text;
	int rc;

	buf_init(&text, MEM_ARCH);
	buf_puts(&text, "(?:.*\\.)?(?:");
	buf_put(&text, v->key, v->key_n);
	buf_puts(&text, ")");
	rc = text.bad ? INFER_ENOMEM : regex_dfa(out, text.at, text.len, REGEX_WHOLE, left, &why);
	buf_fini(&text);
	if (rc == INFER_ENOMEM)
		return lora_nomem(l, err);
	return rc ? peft_config_fail(l, rc == INFER_EINVAL ? INFER_EFORMAT : rc, err,
	                             "pattern %s: %.90s", file_quote(name, v->key, v->key_n),
	                             why.message)
	          : INFER_OK;
}

/* Read an object of patterns and numbers of at least `least`. */
static int read_patterns(infer_lora *l, const struct json *o, const char *key,
                         struct peft_patterns *p, infer_error *err)
{
	const struct json *at = json_get(o, key);
	struct budget left = { .steps = BUDGET_STEPS, .bytes = BUDGET_BYTES };

	if (!at || json_is_null(at))
		return INFER_OK;
	if (!json_is_object(at) || json_count(at) > PATTERNS)
		return peft_config_fail(l, INFER_EFORMAT, err,
		                        "%s must be an object of at most %d members", key,
		                        PATTERNS);
	p->at = arena_alloc(&l->arena, json_count(at), sizeof *p->at);
	if (!p->at)
		return lora_nomem(l, err);
	json_each(v, at) {
		struct peft_pattern *one = &p->at[p->n];
		if (!json_is_number(v))
			return peft_config_fail(l, INFER_EFORMAT, err,
			                        "%s: each value must be a number", key);
		one->value = json_double(v);
		TRY(compile_module_pattern(l, v, &one->dfa, &left, err));
		p->n++;
	}
	return INFER_OK;
}

static int matches(const struct dfa *d, struct infer_str s)
{
	uint32_t state = d->start;

	for (size_t i = 0; i < s.len; i++) /* names of modules are ASCII */
		state = dfa_step(d, state, (unsigned char)s.at[i]);
	return (d->flags[state] & DFA_ACCEPT) != 0;
}

/* Return the value of the first pattern that matches, or `otherwise`. */
static double find_value(const struct peft_patterns *p, struct infer_str module, double otherwise)
{
	for (int i = 0; i < p->n; i++)
		if (matches(p->at[i].dfa, module))
			return p->at[i].value;
	return otherwise;
}

int64_t peft_rank(const struct peft_config *c, struct infer_str module)
{
	double r = find_value(&c->ranks, module, (double)c->rank);

	return r >= 1 && r <= INFER_LORA_MAX_RANK ? (int64_t)r : 0;
}

double peft_alpha(const struct peft_config *c, struct infer_str module)
{
	return find_value(&c->alphas, module, c->alpha);
}

int peft_lists(const struct json *list, struct infer_str module)
{
	json_each(v, list) {
		size_t n = json_bytes(v);
		if (n && module.len >= n && !memcmp(module.at + module.len - n, v->s, n) &&
		    (module.len == n || module.at[module.len - n - 1] == '.'))
			return 1;
	}
	return 0;
}

/* --- */

static int read_members(struct peft_config *c, infer_lora *l, const struct json *o,
                        infer_error *err)
{
	const struct json *rank = json_get(o, "r"), *alpha = json_get(o, "lora_alpha");
	int turned;

	c->rank = 8;
	c->alpha = 8;
	if (rank && (!json_is(rank, JSON_INT) || rank->i < 1 || rank->i > INFER_LORA_MAX_RANK))
		return peft_config_fail(l, INFER_EFORMAT, err, "r must be an integer from 1 to %d",
		                        INFER_LORA_MAX_RANK);
	if (alpha && (!json_is_number(alpha) || !isfinite((float)json_double(alpha))))
		return peft_config_fail(l, INFER_EFORMAT, err, "lora_alpha must be a number");
	c->rank = rank ? rank->i : c->rank;
	c->alpha = alpha ? json_double(alpha) : c->alpha;
	TRY(check_bool(l, o, "use_rslora", &c->rank_stabilised, err));
	/* PEFT reads it for layers that store their weights transposed, which no model here has */
	TRY(check_bool(l, o, "fan_in_fan_out", &turned, err));
	TRY(check_bool(l, o, "ensure_weight_tying", &c->ties, err));
	TRY(check_names(l, o, "modules_to_save", &c->modules_to_save, err));
	TRY(check_names(l, o, "target_parameters", &c->target_parameters, err));
	TRY(read_patterns(l, o, "rank_pattern", &c->ranks, err));
	return read_patterns(l, o, "alpha_pattern", &c->alphas, err);
}

int peft_config_read(struct peft_config *c, infer_lora *l, const char *text, size_t n,
                     infer_error *err)
{
	const struct json *o;
	char what[200];

	*c = (struct peft_config){ 0 };
	snprintf(what, sizeof what, "%.150s/" PEFT_CONFIG, file_label(l->info.path));
	if (n > 1 << 24)
		return peft_config_fail(l, INFER_EUNSUP, err, "it must have at most 16 MiB");
	TRY(jread(&o, &l->arena, text, n, what, err));
	if (!json_is_object(o))
		return peft_config_fail(l, INFER_EFORMAT, err, "must be a JSON object");
	TRY(check_words(l, o, err));
	json_each(v, o)
		TRY(check_member(l, v, err));
	return read_members(c, l, o, err);
}

void peft_config_fini(struct peft_config *c)
{
	for (int i = 0; i < c->ranks.n; i++)
		dfa_free(c->ranks.at[i].dfa);
	for (int i = 0; i < c->alphas.n; i++)
		dfa_free(c->alphas.at[i].dfa);
	*c = (struct peft_config){ 0 };
}
