/* infer-quant/main.c - options, then one call. */
#include "opts.h"
#include "common/say.h"
#include "base/err.h"
#include "base/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const struct help_line examples[] = {
	{ "infer-quant --type Q4_K_M f16.gguf q4.gguf", "the commonest mix" },
	{ "infer-quant --type Q4_K_M --dry-run f16.gguf", "what it would write" },
	{ "infer-quant --type Q4_K --keep ffn=Q6_K IN OUT", "feed-forward parts better" },
	{ "infer-quant eval -m q4.gguf --ref r.gguf -f T", "what it lost" },
	{ "infer-quant --copy --split-max-size 4G IN OUT", "the same, in files of 4 GiB" },
	{ NULL, NULL },
};
static const struct help_line first_words[] = {
	{ "eval", "how well a model predicts a text" },
	{ "imatrix", "which columns of the weights matter" },
	{ NULL, NULL },
};
static const struct program program = {
	.name = "infer-quant",
	.usage = "infer-quant --type TYPE [OPTION]... IN OUT\n"
		 "       infer-quant --copy|--merge|--merge-lora FILE [OPTION]... IN OUT\n"
		 "       infer-quant eval|imatrix -m MODEL [OPTION]... -f TEXT",
	.brief = "Write a model again, in smaller types; measure what it lost.",
	.words = first_words,
	.examples = examples,
	.rows = quant_rows,
};

/* The sub-commands that the first word may name; any other word is a file. */
static const struct {
	const char *name;
	int (*run)(const struct quant_opts *o, const struct opt_rest *rest);
} subjects[] = {
	{ "eval", eval },
	{ "imatrix", imatrix },
};

/* Return the values of --type, separated by spaces. */
static const char *type_values(void)
{
	const struct opt *row = quant_rows;

	while (!row->name || strcmp(row->name, "type"))
		row++;
	return row->values;
}

/* True if a word is a value of --type, case ignored. */
static int is_type(const char *word)
{
	size_t n;

	for (const char *p = type_values(); *p; p += n + (p[n] == ' ')) {
		n = strcspn(p, " ");
		if (strlen(word) == n && !strncasecmp(word, p, n))
			return 1;
	}
	return 0;
}

/* True if a word is written like a type that there is not, and names no file. */
static int is_like_type(const char *word)
{
	size_t n = strcspn(word, "0123456789");

	return ((n == 1 && strchr("QqFf", *word)) || (n == 2 && !strncasecmp(word, "IQ", 2))) &&
	       word[n] && !strchr(word, '.') && !strchr(word, '/') && access(word, F_OK);
}

/* Refuse a word that is written like a type, with the most similar type if there is one. */
static int refuse_type(const char *word, infer_error *err)
{
	char upper[24] = "", name[24], best[24] = "";
	struct nearest near;
	size_t n;

	for (size_t i = 0; word[i] && strlen(word) < sizeof upper; i++)
		upper[i] = (char)toupper((unsigned char)word[i]);
	nearest_begin(&near, upper);
	for (const char *p = type_values(); *p; p += n + (p[n] == ' ')) {
		n = strcspn(p, " ");
		snprintf(name, sizeof name, "%.*s", (int)n, p);
		near.best = NULL;
		nearest_try(&near, name);
		if (near.best)
			memcpy(best, name, sizeof best);
	}
	return err_set(err, INFER_EINVAL, "'%.20s' is not a type or mix; %s%s%s", word,
	               *best ? "did you mean " : "the manual of infer-quant lists them", best,
	               *best ? "?" : "");
}

/* Refuse TYPE IN [OUT], and a type that is not known. */
static int check_words(const struct opt_rest *rest, infer_error *err)
{
	char *const *words = rest->words;

	if (rest->n_words > 1 && is_type(words[0]) && access(words[0], F_OK))
		return err_set(err, INFER_EINVAL, "try infer-quant --type %.20s %.100s %.100s",
		               words[0], words[1], rest->n_words > 2 ? words[2] : "OUT");
	for (int i = 0; i < rest->n_words; i++)
		if (is_like_type(words[i]) && !is_type(words[i]))
			return refuse_type(words[i], err);
	return INFER_OK;
}

/* Refuse the order of llama-quantize, IN [OUT] TYPE, with the command to type. */
static int check_order(const struct quant_opts *o, const struct opt_rest *rest, infer_error *err)
{
	int n = rest->n_words, at = 1;
	char *const *words = rest->words;

	if (o->type || o->copy || o->merge || o->recipe || o->max_bytes || o->bpw > 0)
		return INFER_OK;
	TRY(check_words(rest, err));
	while (at < n && at < 3 && !is_type(words[at]) && strcasecmp(words[at], "copy"))
		at++;
	if (at >= n || at >= 3)
		return INFER_OK;
	const char *out = at > 1 ? words[1] : "OUT";

	if (!is_type(words[at]))
		return err_set(err, INFER_EINVAL, "try infer-quant --copy %.100s %.100s", words[0],
		               out);
	return err_set(err, INFER_EINVAL, "try infer-quant --type %.20s %.100s %.100s", words[at],
	               words[0], out);
}

static int subject(const struct quant_opts *o, struct opt_rest *rest)
{
	infer_error err = { 0 };

	for (size_t i = 0; rest->n_words && i < sizeof subjects / sizeof *subjects; i++) {
		if (strcmp(subjects[i].name, rest->words[0]))
			continue;
		rest->words++;
		rest->n_words--;
		return subjects[i].run(o, rest);
	}
	return check_order(o, rest, &err) ? say_fail(&err) : rewrite(o, rest);
}

int main(int argc, char **argv)
{
	struct quant_opts o = { .json = 0 };
	struct opt_rest rest;
	int code = start(&program, &o, &o.start, argc, argv, &rest);

	if (code >= 0)
		return code;
	code = subject(&o, &rest);
	opt_rest_fini(&rest);
	return say_end(code);
}
