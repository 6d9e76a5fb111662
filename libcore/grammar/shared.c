/* grammar/shared.c - compile constraints; reference-counted handles, named by a hash. */
#include "schema/schema.h"
#include "grammar/shared.h"
#include "lark/lark.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/sha256.h"

#include <string.h>

static const char *const kinds[] = {
	[INFER_GRAMMAR_SCHEMA] = "json_schema", [INFER_GRAMMAR_OBJECT] = "json_object",
	[INFER_GRAMMAR_RULES] = "grammar",      [INFER_GRAMMAR_REGEX] = "regex",
	[INFER_GRAMMAR_CHOICE] = "choice",
};
enum { KINDS = sizeof kinds / sizeof *kinds };

const char *grammar_kind(int form) { return form >= 0 && form < KINDS ? kinds[form] : ""; }

static struct budget budget_of(uint64_t n)
{
	n = n ? n : INFER_GRAMMAR_BUDGET;
	return (struct budget){ n, n < UINT64_MAX / 4 ? 4 * n : UINT64_MAX };
}

static enum infer_grammar_cause cause_of(int rc, int form, const struct budget *left)
{
	switch (rc) {
	case INFER_OK:
	case INFER_ENOMEM:
		return INFER_GRAMMAR_ACCEPTED;
	case INFER_EINVAL:
		return form == INFER_GRAMMAR_SCHEMA ? INFER_GRAMMAR_INVALID
		                                    : INFER_GRAMMAR_UNREADABLE;
	case INFER_EUNSUP:
		return left->exhausted ? INFER_GRAMMAR_TOO_LARGE : INFER_GRAMMAR_UNSUPPORTED;
	case INFER_EEMPTY:
		return INFER_GRAMMAR_UNSATISFIABLE;
	default:
		return INFER_GRAMMAR_UNREADABLE;
	}
}

void grammar_name(char hex[65], const char *kind, const struct infer_grammar_source *s)
{
	const uint64_t numbers[] = { s->flags, budget_of(s->budget).steps, s->text.len };
	struct sha256 hash;
	uint8_t out[32];

	sha256_init(&hash);
	sha256_add(&hash, kind, strlen(kind) + 1);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		uint8_t bytes[8];

		for (int b = 0; b < 8; b++)
			bytes[b] = (uint8_t)(numbers[i] >> 8 * b);
		sha256_add(&hash, bytes, sizeof bytes);
	}
	sha256_add(&hash, s->text.at, s->text.len);
	sha256_end(&hash, out);
	sha256_hex(out, hex);
}

static int fail_nomem(infer_error *err)
{
	return err_set(err, INFER_ENOMEM, "no memory for a constraint");
}

/* Make the handle of g; takes g on success. */
static int make_handle(infer_grammar **out, struct grammar *g, const char *kind,
                       const struct infer_grammar_source *s, infer_error *err)
{
	infer_grammar *w;

	*out = NULL;
	if (ir_is_none(g))
		return err_set(err, INFER_EEMPTY, "%s: no text satisfies it", kind);
	w = mem_zalloc(MEM_GRAMMAR, 1, sizeof *w);
	if (!w)
		return fail_nomem(err);
	atomic_init(&w->refs, 1);
	w->g = g;
	w->kind = kind;
	w->budget = budget_of(s->budget);
	w->bytes = ir_bytes(g);
	buf_init(&w->ignored, MEM_GRAMMAR);
	buf_init(&w->annotations, MEM_GRAMMAR);
	grammar_name(w->sha256, kind, s);
	*out = w;
	return INFER_OK;
}

int grammar_share(infer_grammar **out, struct grammar *g, const char *kind, struct infer_str text,
                  uint64_t budget, infer_error *err)
{
	const struct infer_grammar_source s = { .text = text, .budget = budget };

	return make_handle(out, g, kind, &s, err);
}

/* ---- compiling ---- */

struct compile {
	const struct infer_grammar_source *s;
	struct budget *left;
	struct arena mem;
	struct buf ignored, annotations;
	infer_error *err;
};

static struct schema_opts schema_opts_of(struct compile *c)
{
	const uint32_t flags = c->s->flags;

	return (struct schema_opts){
		.annotate = (flags & INFER_GRAMMAR_ANNOTATE) != 0,
		.lax = (flags & INFER_GRAMMAR_LAX) != 0,
		.strict_formats = (flags & INFER_GRAMMAR_STRICT_FORMATS) != 0,
		.ignored = &c->ignored,
		.annotations = &c->annotations,
		.ordered = (flags & INFER_GRAMMAR_ORDERED) != 0,
		.canonical = !(flags & INFER_GRAMMAR_AS_WRITTEN),
		.closed = !(flags & INFER_GRAMMAR_AS_WRITTEN),
		.short_names = !(flags & INFER_GRAMMAR_AS_WRITTEN),
	};
}

static int compile_schema(struct compile *c, struct grammar **g)
{
	static const char object[] = "{\"type\":\"object\"}";
	const struct infer_grammar_source *s = c->s;
	const struct schema_opts opts = schema_opts_of(c);
	const struct json *schema;

	if (s->form == INFER_GRAMMAR_OBJECT)
		TRY(jread(&schema, &c->mem, object, sizeof object - 1, "json_object", c->err));
	else
		TRY(jread(&schema, &c->mem, s->text.at, s->text.len, "json_schema", c->err));
	TRY(schema_compile(g, schema, &opts, c->left, c->err));
	return ir_is_none(*g) ? schema_none(schema, c->err) : INFER_OK;
}

static int compile_lark(struct compile *c, struct grammar **g)
{
	const struct schema_opts json = schema_opts_of(c);

	return lark_compile(g, c->s->text.at, c->s->text.len, &json, &c->annotations, c->left,
	                    c->err);
}

static int compile_choice(struct compile *c, struct grammar **g)
{
	const struct json *list;
	struct dfa_word *words;
	size_t n = 0;

	TRY(jread(&list, &c->mem, c->s->text.at, c->s->text.len, "choice", c->err));
	if (!json_is_array(list) || !list->n)
		return err_set(c->err, INFER_EINVAL, "choice must be a list of strings, not empty");
	words = arena_alloc(&c->mem, list->n, sizeof *words);
	if (!words)
		return fail_nomem(c->err);
	json_each(v, list) {
		if (!json_is_string(v))
			return err_set(c->err, INFER_EINVAL, "choice: entry %zu must be a string",
			               n);
		words[n++] = (struct dfa_word){ json_str(v), v->n };
	}
	return grammar_choice(g, words, n, c->left, c->err);
}

static int compile_source(struct compile *c, struct grammar **g)
{
	const struct infer_str t = c->s->text;

	switch (c->s->form) {
	case INFER_GRAMMAR_SCHEMA:
	case INFER_GRAMMAR_OBJECT:
		return compile_schema(c, g);
	case INFER_GRAMMAR_RULES:
		return lark_is(t.at, t.len) ? compile_lark(c, g)
		                            : gbnf_compile(g, t.at, t.len, c->left, c->err);
	case INFER_GRAMMAR_REGEX:
		return grammar_regex(g, t.at, t.len, c->left, c->err);
	case INFER_GRAMMAR_CHOICE:
		return compile_choice(c, g);
	default:
		return err_set(c->err, INFER_EINVAL, "a constraint of form %d", c->s->form);
	}
}

static void begin_compile(struct compile *c, const struct infer_grammar_source *s,
                          struct budget *left, infer_error *err)
{
	*c = (struct compile){ .s = s, .left = left, .err = err };
	arena_init(&c->mem, MEM_GRAMMAR);
	buf_init(&c->ignored, MEM_GRAMMAR);
	buf_init(&c->annotations, MEM_GRAMMAR);
}

static void end_compile(struct compile *c)
{
	buf_fini(&c->ignored);
	buf_fini(&c->annotations);
	arena_fini(&c->mem);
}

int grammar_compile(struct grammar **out, const struct infer_grammar_source *s, struct budget *left,
                    infer_error *err)
{
	struct compile c;
	int rc;

	*out = NULL;
	begin_compile(&c, s, left, err);
	rc = compile_source(&c, out);
	end_compile(&c);
	if (!rc)
		return rc;
	ir_drop(*out, left);
	*out = NULL;
	return rc;
}

int infer_grammar_compile(infer_grammar **out, const struct infer_grammar_source *s,
                          enum infer_grammar_cause *cause, infer_error *err)
{
	struct budget left = budget_of(s->budget);
	struct grammar *g = NULL;
	struct compile c;
	int rc;

	*out = NULL;
	begin_compile(&c, s, &left, err);
	rc = compile_source(&c, &g);
	if (!rc)
		rc = make_handle(out, g, grammar_kind(s->form), s, err);
	if (rc)
		ir_free(g);
	if (!rc) {
		(*out)->steps = budget_of(s->budget).steps - left.steps;
		(*out)->ignored = c.ignored;
		(*out)->annotations = c.annotations;
		buf_init(&c.ignored, MEM_GRAMMAR);
		buf_init(&c.annotations, MEM_GRAMMAR);
	}
	if (!rc && ((*out)->ignored.bad || (*out)->annotations.bad)) {
		infer_grammar_free(*out);
		*out = NULL;
		rc = fail_nomem(err);
	}
	end_compile(&c);
	if (cause)
		*cause = cause_of(rc, s->form, &left);
	if (rc == INFER_OK || rc == INFER_ENOMEM)
		return rc;
	if (err)
		err->code = INFER_EEMPTY;
	return INFER_EEMPTY;
}

infer_grammar *infer_grammar_share(infer_grammar *g)
{
	atomic_fetch_add_explicit(&g->refs, 1, memory_order_relaxed);
	return g;
}

void infer_grammar_free(infer_grammar *g)
{
	if (!g || atomic_fetch_sub_explicit(&g->refs, 1, memory_order_acq_rel) != 1)
		return;
	ir_free(g->g);
	buf_fini(&g->ignored);
	buf_fini(&g->annotations);
	mem_free(g);
}

const char *infer_grammar_sha256(const infer_grammar *g) { return g->sha256; }

const char *infer_grammar_kind(const infer_grammar *g) { return g->kind; }

/* Return the i-th of a list of strings, or NULL. */
static const char *string_of(const struct buf *list, size_t i)
{
	const char *at = list->at;
	size_t left = list->len;

	for (; left && i; i--) {
		const size_t n = strlen(at) + 1;

		at += n;
		left -= n;
	}
	return left ? at : NULL;
}

const char *infer_grammar_ignored(const infer_grammar *g, size_t i)
{
	return string_of(&g->ignored, i);
}

const char *infer_grammar_annotation(const infer_grammar *g, size_t i)
{
	return string_of(&g->annotations, i);
}
