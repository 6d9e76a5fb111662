/* hf/pack_ct_match.c - find the scheme of a module in a compressed-tensors config. */
#include "base/err.h"
#include "hf/pack_ct.h"
#include "hf/tensors.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

/* Limits: patterns; steps and backtracking depth of a match. */
enum { PATTERNS_MAX = 1024, STEPS_MAX = 100000, DEPTH_MAX = 1000 };

static void *heap_alloc(size_t n, void *arena) { return arena_raw(arena, n); }

static void heap_free(void *at, void *arena) /* nothing to do: freed with the arena */
{
	(void)at;
	(void)arena;
}

static int compare_str(struct infer_str a, struct infer_str b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int c = n ? memcmp(a.at, b.at, n) : 0;

	return c ? c : a.len < b.len ? -1 : a.len > b.len;
}

static int compare_targets(const void *a, const void *b)
{
	const struct ct_target *x = a, *y = b;
	int c = compare_str(x->name, y->name);

	return c ? c : x->scheme - y->scheme; /* "ignore", -1, first */
}

/* Fail for a target that is in two schemes. */
static int check_twice(struct hf_dir *d, const struct ct_target *t, int n, infer_error *err)
{
	char name[FILE_QUOTE];

	for (int i = 1; i < n; i++)
		if (!compare_str(t[i - 1].name, t[i].name) && t[i - 1].scheme >= 0 &&
		    t[i - 1].scheme != t[i].scheme)
			return hf_bad_quant(d, INFER_EFORMAT, err,
			                    "\"targets\" of two config_groups have %s",
			                    file_quote(name, t[i].name.at, t[i].name.len));
	return INFER_OK;
}

/* Compile a pattern, anchored at the beginning of the name as by Python's re.match. */
static int compile_pattern(struct hf_dir *d, struct ct_target *t, pcre2_compile_context *ctx,
                           infer_error *err)
{
	char name[FILE_QUOTE];
	PCRE2_UCHAR why[100];
	PCRE2_SIZE at;
	int code;

	t->re = pcre2_compile((PCRE2_SPTR)t->name.at, t->name.len, PCRE2_ANCHORED | PCRE2_NEVER_UTF,
	                      &code, &at, ctx);
	if (t->re)
		return INFER_OK;
	if (code == PCRE2_ERROR_HEAP_FAILED)
		return hf_nomem(d, err);
	pcre2_get_error_message(code, why, sizeof why);
	return hf_bad_quant(d, INFER_EUNSUP, err, "\"%s\": pattern %s: %s",
	                    t->scheme < 0 ? "ignore" : "targets",
	                    file_quote(name, t->name.at, t->name.len), (const char *)why);
}

int hf_ct_targets(struct hf_dir *d, struct ct *c, infer_error *err)
{
	pcre2_general_context *heap =
		pcre2_general_context_create(heap_alloc, heap_free, &d->brief);
	pcre2_compile_context *ctx = heap ? pcre2_compile_context_create(heap) : NULL;
	pcre2_match_context *limits = heap ? pcre2_match_context_create(heap) : NULL;

	c->match = heap ? pcre2_match_data_create(1, heap) : NULL;
	c->limits = limits;
	if (!ctx || !limits || !c->match)
		return hf_nomem(d, err);
	pcre2_set_match_limit(limits, STEPS_MAX);
	pcre2_set_depth_limit(limits, DEPTH_MAX);
	qsort(c->names, (size_t)c->n_names, sizeof *c->names, compare_targets);
	qsort(c->patterns, (size_t)c->n_patterns, sizeof *c->patterns, compare_targets);
	TRY(check_twice(d, c->names, c->n_names, err));
	TRY(check_twice(d, c->patterns, c->n_patterns, err));
	if (c->n_patterns > PATTERNS_MAX)
		return hf_bad_quant(d, INFER_EUNSUP, err, "more than %d patterns", PATTERNS_MAX);
	for (int i = 0; i < c->n_patterns; i++)
		TRY(compile_pattern(d, &c->patterns[i], ctx, err));
	return INFER_OK;
}

/* Return the first target of this name; NULL: there is none. */
static const struct ct_target *find_name(const struct ct *c, struct infer_str name)
{
	int low = 0, high = c->n_names;

	while (low < high) {
		int mid = (low + high) / 2;
		if (compare_str(c->names[mid].name, name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low < c->n_names && !compare_str(c->names[low].name, name) ? &c->names[low] : NULL;
}

/* Set *found to the first pattern that matches, of "ignore" or of the schemes; NULL: none does. */
static int find_pattern(struct hf_dir *d, const struct ct *c, struct infer_str name, int ignore,
                        const struct ct_target **found, infer_error *err)
{
	*found = NULL;
	for (int i = 0; i < c->n_patterns; i++) {
		const struct ct_target *t = &c->patterns[i];
		if ((t->scheme < 0) != ignore)
			continue;
		int n = pcre2_match(t->re, (PCRE2_SPTR)name.at, name.len, 0, 0, c->match,
		                    c->limits);
		if (n == PCRE2_ERROR_HEAPLIMIT || n == PCRE2_ERROR_NOMEMORY)
			return hf_nomem(d, err);
		if (n < 0 && n != PCRE2_ERROR_NOMATCH) {
			char quoted[FILE_QUOTE];
			return hf_bad_quant(d, INFER_EUNSUP, err,
			                    "pattern %s takes too long over a name",
			                    file_quote(quoted, t->name.at, t->name.len));
		}
		if (n >= 0) {
			*found = t;
			return INFER_OK;
		}
	}
	return INFER_OK;
}

static int ends_with(struct infer_str s, const char *with)
{
	size_t n = strlen(with);

	return s.len >= n && !memcmp(s.at + s.len - n, with, n);
}

/* Return the class of a module, derived from its name. */
static struct infer_str module_class(struct infer_str module)
{
	return ends_with(module, "embed_tokens") ? (struct infer_str){ "Embedding", 9 }
	                                         : (struct infer_str){ "Linear", 6 };
}

int hf_ct_scheme(struct hf_dir *d, const struct ct *c, const struct hf_packed *p,
                 const struct ct_scheme **scheme, infer_error *err)
{
	const struct ct_target *name = find_name(c, p->module),
			       *class = find_name(c, module_class(p->module)), *found;

	TRY(find_pattern(d, c, p->module, 1, &found, err));
	if (found || (name && name->scheme < 0) || (class && class->scheme < 0))
		return hf_bad_tensor(d, p->part[0], INFER_EFORMAT, err,
		                     "its module is in \"ignore\" of quantization_config");
	TRY(find_pattern(d, c, p->module, 0, &found, err));
	found = name ? name : found ? found : class;
	if (!found)
		return hf_bad_tensor(d, p->part[0], INFER_EFORMAT, err,
		                     "its module is in no \"targets\" of quantization_config");
	*scheme = &c->schemes[found->scheme];
	return INFER_OK;
}
