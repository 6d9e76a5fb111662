/* quant/recipe.c - make recipes from options, and write their canonical text. */
#include "quant/recipe.h"
#include "base/err.h"
#include "base/jwrite.h"
#include "base/os.h"
#include "base/sha256.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

int recipe_make(infer_recipe **out, const struct mix_name *name, const char *imatrix,
                const char *const *keep, size_t n_keep, infer_error *err)
{
	infer_recipe *r = mem_zalloc(MEM_QUANT, 1, sizeof *r);
	int rc = INFER_OK;

	*out = NULL;
	if (!r)
		return err_nomem(err);
	arena_init(&r->mem, MEM_QUANT);
	r->name = name;
	if (imatrix)
		r->imatrix = arena_strndup(&r->mem, imatrix, strlen(imatrix));
	r->rules = arena_alloc(&r->mem, n_keep, sizeof *r->rules);
	r->n = n_keep;
	if (r->mem.bad)
		rc = err_nomem(err);
	for (size_t i = 0; !rc && i < n_keep; i++)
		rc = override_read(&r->rules[i], &r->mem, keep[i], err);
	if (rc) {
		infer_recipe_free(r);
		return rc;
	}
	*out = r;
	return INFER_OK;
}

void infer_recipe_free(infer_recipe *r)
{
	if (!r)
		return;
	arena_fini(&r->mem);
	mem_free(r);
}

void infer_recipe_info(const infer_recipe *r, struct infer_recipe_info *info)
{
	*info = (struct infer_recipe_info){ .type = r->name ? r->name->name : NULL,
		                            .method = method_name(r->method),
		                            .gptq = recipe_gptq(r),
		                            .gptq_window = r->gptq.window,
		                            .gptq_kv_type = r->gptq.kv_type,
		                            .gptq_act_type = r->gptq.act_type,
		                            .imatrix = r->imatrix,
		                            .max_bytes = r->max_bytes,
		                            .bpw = r->bpw,
		                            .n_patterns = r->n };
}

/* Append s in single quotes, or in double quotes if it has characters other than printable
 * ASCII. */
static int put_yaml_string(struct buf *to, const char *s, infer_error *err)
{
	size_t n = strlen(s), shown = 0;
	uint32_t cp;

	if (utf8_check(s, n) != n)
		return err_set(err, INFER_EINVAL, "a string in the recipe must be UTF-8");
	while (shown < n && s[shown] >= ' ' && s[shown] <= '~')
		shown++;
	if (shown == n) {
		buf_putc(to, '\'');
		for (; *s; s++)
			buf_puts(to, *s == '\'' ? "''" : (char[2]){ *s, 0 });
		buf_putc(to, '\'');
		return INFER_OK;
	}
	buf_putc(to, '"');
	for (size_t i = 0; i < n;) {
		i += (size_t)utf8_get(s + i, n - i, &cp);
		if (cp >= ' ' && cp <= '~')
			buf_printf(to, cp == '"' || cp == '\\' ? "\\%c" : "%c", (int)cp);
		else
			buf_printf(to, "\\U%08x", (unsigned)cp);
	}
	buf_putc(to, '"');
	return INFER_OK;
}

static int put_imatrix(struct buf *to, const infer_recipe *r, infer_error *err)
{
	buf_puts(to, "imatrix:\n  file: ");
	TRY(put_yaml_string(to, r->imatrix, err));
	if (r->imatrix_sha256)
		buf_printf(to, "\n  sha256: '%s'", r->imatrix_sha256);
	buf_putc(to, '\n');
	return INFER_OK;
}

int recipe_gptq(const infer_recipe *r)
{
	int any = r->method == METHOD_GPTQ;

	for (size_t i = 0; i < r->n; i++)
		any |= r->rules[i].method == METHOD_GPTQ;
	return any;
}

static const char *copy_string(struct arena *mem, const char *s)
{
	return s ? arena_strndup(mem, s, strlen(s)) : NULL;
}

void recipe_copy_gptq(infer_recipe *r, const struct recipe_gptq *from)
{
	r->gptq = (struct recipe_gptq){ .sha256 = copy_string(&r->mem, from->sha256),
		                        .kv_type = copy_string(&r->mem, from->kv_type),
		                        .act_type = copy_string(&r->mem, from->act_type),
		                        .core = copy_string(&r->mem, from->core),
		                        .window = from->window,
		                        .at = copy_string(&r->mem, from->at) };
}

static int put_gptq(struct buf *to, const struct recipe_gptq *g, infer_error *err)
{
	const struct {
		const char *key, *text;
	} texts[] = { { "kv-type", g->kv_type }, { "act-type", g->act_type }, { "core", g->core } };

	buf_printf(to, "gptq:\n  sha256: '%s'\n", g->sha256);
	if (g->window)
		buf_printf(to, "  window: %d\n", (int)g->window);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		if (!texts[i].text)
			continue;
		buf_printf(to, "  %s: ", texts[i].key);
		TRY(put_yaml_string(to, texts[i].text, err));
		buf_putc(to, '\n');
	}
	return INFER_OK;
}

static int put_rule(struct buf *to, const struct override_rule *r, infer_error *err)
{
	const char *type = infer_type_info(r->type)->name;

	buf_puts(to, "  ");
	TRY(put_yaml_string(to, r->pattern, err));
	if (r->method < 0)
		buf_printf(to, ": %s\n", type);
	else
		buf_printf(to, ": { type: %s, method: %s }\n", type, method_name(r->method));
	return INFER_OK;
}

int recipe_text(struct buf *to, const infer_recipe *r, infer_error *err)
{
	const struct json bpw = { .kind = JSON_REAL, .d = r->bpw };
	struct jwrite w;

	buf_printf(to, "infer-recipe: %d\n", RECIPE_VERSION);
	if (r->name)
		buf_printf(to, "type: %s\n", r->name->name);
	buf_printf(to, "method: %s\n", method_name(r->method));
	if (r->gptq.sha256)
		TRY(put_gptq(to, &r->gptq, err));
	if (r->imatrix)
		TRY(put_imatrix(to, r, err));
	if (r->max_bytes)
		buf_printf(to, "target:\n  max-bytes: %llu\n", (unsigned long long)r->max_bytes);
	if (r->bpw > 0) {
		buf_puts(to, "target:\n  bpw: ");
		jw_init(&w, to);
		jw_value(&w, NULL, &bpw);
		buf_putc(to, '\n');
	}
	if (r->text_sha256)
		buf_printf(to, "calibration:\n  sha256: '%s'\n", r->text_sha256);
	if (r->text_sha256 && r->window)
		buf_printf(to, "  window: %d\n", (int)r->window);
	if (r->n)
		buf_puts(to, "tensors:\n");
	for (size_t i = 0; i < r->n; i++)
		TRY(put_rule(to, &r->rules[i], err));
	return INFER_OK;
}

int recipe_file_sha256(char hex[65], const char *path, infer_error *err)
{
	struct os_file f = { 0 };

	TRY(os_file_map(&f, path, err));
	sha256_name(hex, f.at, f.bytes);
	os_file_unmap(&f);
	return INFER_OK;
}
