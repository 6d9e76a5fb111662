/* quant/override.c - type overrides by patterns of tensor names. */
#include "quant/override.h"
#include "base/err.h"
#include "base/mem.h"
#include "quant/mix.h"

#include <stdio.h>
#include <string.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum { STEPS_MAX = 1000000, DEPTH_MAX = 1000 };

struct pattern {
	pcre2_code *re;
	const struct override_rule *rule; /* borrowed */
	int used;
};
struct overrides {
	pcre2_general_context *heap; /* makes PCRE2 allocate with base/mem.h */
	pcre2_match_context *limits;
	pcre2_match_data *match;
	struct pattern *at;
	size_t n;
};

static const char *const methods[METHOD_COUNT] = {
	[METHOD_SEARCH] = "search",
	[METHOD_RTN] = "rtn",
	[METHOD_GPTQ] = "gptq",
};

const char *method_name(int method) { return methods[method]; }

int method_find(const char *name)
{
	for (int i = 0; i < METHOD_COUNT; i++)
		if (!strcmp(methods[i], name))
			return i;
	return -1;
}

static void *heap_alloc(size_t n, void *user)
{
	(void)user;
	return mem_alloc(MEM_QUANT, n, 1);
}

static void heap_free(void *p, void *user)
{
	(void)user;
	mem_free(p);
}

int override_read(struct override_rule *r, struct arena *a, const char *rule, infer_error *err)
{
	const char *equals = strrchr(rule, '=');
	char label[96];

	snprintf(label, sizeof label, "'%.80s'", rule);
	if (!equals || equals == rule)
		return err_set(err, INFER_EINVAL, "%s must be PATTERN=TYPE", label);
	r->code = INFER_EINVAL;
	r->method = -1;
	r->type = mix_type(equals + 1);
	if (r->type < 0)
		return err_set(err, INFER_EINVAL, "%s: '%.40s' is not a type", label, equals + 1);
	r->pattern = arena_strndup(a, rule, (size_t)(equals - rule));
	r->label = arena_strndup(a, label, strlen(label));
	return r->pattern && r->label ? INFER_OK : err_nomem(err);
}

static int compile_pattern(struct overrides *k, struct pattern *p, const struct override_rule *rule,
                           infer_error *err)
{
	PCRE2_UCHAR why[120];
	PCRE2_SIZE at;
	int code;

	p->rule = rule;
	pcre2_compile_context *ctx = pcre2_compile_context_create(k->heap);
	if (!ctx)
		return err_nomem(err);
	p->re = pcre2_compile((PCRE2_SPTR)rule->pattern, PCRE2_ZERO_TERMINATED, PCRE2_NEVER_UTF,
	                      &code, &at, ctx);
	pcre2_compile_context_free(ctx);
	if (p->re)
		return INFER_OK;
	if (code == PCRE2_ERROR_HEAP_FAILED)
		return err_nomem(err);
	pcre2_get_error_message(code, why, sizeof why);
	return err_set(err, rule->code, "%s: byte %zu of the pattern: %s", rule->label, at,
	               (const char *)why);
}

int override_new(struct overrides **out, const struct override_rule *rules, size_t n,
                 infer_error *err)
{
	struct overrides *k = mem_zalloc(MEM_QUANT, 1, sizeof *k);
	int rc = INFER_OK;

	*out = NULL;
	if (!k)
		return err_nomem(err);
	k->n = n;
	k->at = mem_zalloc(MEM_QUANT, n, sizeof *k->at);
	k->heap = pcre2_general_context_create(heap_alloc, heap_free, NULL);
	k->limits = k->heap ? pcre2_match_context_create(k->heap) : NULL;
	k->match = k->heap ? pcre2_match_data_create(1, k->heap) : NULL;
	if (!k->at || !k->limits || !k->match)
		rc = err_nomem(err);
	for (size_t i = 0; !rc && i < n; i++)
		rc = compile_pattern(k, &k->at[i], &rules[i], err);
	if (rc) {
		override_free(k);
		return rc;
	}
	pcre2_set_match_limit(k->limits, STEPS_MAX);
	pcre2_set_depth_limit(k->limits, DEPTH_MAX);
	*out = k;
	return INFER_OK;
}

void override_free(struct overrides *k)
{
	if (!k)
		return;
	for (size_t i = 0; k->at && i < k->n; i++)
		pcre2_code_free(k->at[i].re);
	pcre2_match_data_free(k->match);
	pcre2_match_context_free(k->limits);
	pcre2_general_context_free(k->heap);
	mem_free(k->at);
	mem_free(k);
}

int override_find(const struct override_rule **rule, struct overrides *k, struct infer_str name,
                  infer_error *err)
{
	*rule = NULL;
	for (size_t i = 0; i < k->n; i++) {
		int n = pcre2_match(k->at[i].re, (PCRE2_SPTR)name.at, name.len, 0, 0, k->match,
		                    k->limits);

		if (n == PCRE2_ERROR_HEAPLIMIT || n == PCRE2_ERROR_NOMEMORY)
			return err_nomem(err);
		if (n < 0 && n != PCRE2_ERROR_NOMATCH)
			return err_set(err, k->at[i].rule->code,
			               "%s: matching the pattern with a name takes too long",
			               k->at[i].rule->label);
		if (n >= 0) {
			k->at[i].used = 1;
			*rule = k->at[i].rule;
			return INFER_OK;
		}
	}
	return INFER_OK;
}

int override_check(const struct overrides *k, infer_error *err)
{
	for (size_t i = 0; i < k->n; i++)
		if (!k->at[i].used)
			return err_set(err, k->at[i].rule->code,
			               "%s: matches no tensor that is quantised",
			               k->at[i].rule->label);
	return INFER_OK;
}
