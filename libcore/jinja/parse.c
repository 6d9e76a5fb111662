/* jinja/parse.c - parse statements; create and free templates. */
#include "jinja/parse.h"
#include "base/err.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MOST = 100 };

/* ---- common to statements and expressions ---- */

void *jparse_fail(struct jparse *p, const char *fmt, ...)
{
	char s[160];
	va_list ap;

	if (p->rc)
		return NULL;
	va_start(ap, fmt);
	vsnprintf(s, sizeof s, fmt, ap);
	va_end(ap);
	s[utf8_check(s, strlen(s))] = 0;
	for (char *c = s; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = ' ';
	p->rc = err_set(p->err, INFER_EFORMAT, "%s: line %d: %s", p->t->name, p->tok->line, s);
	return NULL;
}

void *jparse_nomem(struct jparse *p)
{
	if (!p->rc)
		p->rc = err_set(p->err, INFER_ENOMEM, "%s: out of memory", p->t->name);
	return NULL;
}

struct jnode *jparse_node(struct jparse *p, enum jnode_kind kind)
{
	struct jnode *n = p->rc ? NULL : arena_alloc(&p->t->arena, 1, sizeof *n);

	if (!n)
		return jparse_nomem(p);
	n->kind = (uint8_t)kind;
	n->line = p->tok->line;
	return n;
}

const struct pystr *jparse_str(struct jparse *p, const char *s, size_t n)
{
	struct pystr *str = p->rc ? NULL : arena_alloc(&p->t->arena, 1, sizeof *str);

	if (!str)
		return jparse_nomem(p);
	str->at = s;
	str->len = n;
	return str;
}

uint32_t jparse_id(struct jparse *p, const char *s, size_t n)
{
	const uint32_t *id = map_get(&p->t->names, s, n);

	if (id)
		return *id;
	if (map_put(&p->t->names, s, n, p->t->names.count))
		jparse_nomem(p);
	return p->t->names.count - 1;
}

int jparse_is(const struct jparse *p, const char *name)
{
	return p->tok->kind == JT_NAME && p->tok->len == strlen(name) &&
	       !memcmp(p->tok->at, name, p->tok->len);
}

int jparse_skip(struct jparse *p, const char *name)
{
	int yes = jparse_is(p, name);

	p->tok += yes;
	return yes;
}

int jparse_expect(struct jparse *p, enum jtok_kind kind, const char *what)
{
	if (p->rc || p->tok->kind != kind) {
		jparse_fail(p, "expected %s", what);
		return 1;
	}
	p->tok++;
	return 0;
}

int jparse_push(struct jparse *p, struct jnode ***list, uint32_t *n, struct jnode *x)
{
	if (!(*n & (*n - 1))) { /* full: the capacity is 0 or a power of two */
		struct jnode **to = arena_alloc(&p->t->arena, *n ? (size_t)*n * 2 : 1, sizeof *to);
		if (!to)
			return jparse_nomem(p) == NULL;
		if (*n)
			memcpy(to, *list, *n * sizeof *to);
		*list = to;
	}
	(*list)[(*n)++] = x;
	return 0;
}

/* ---- statements ---- */

static struct jnode *parse_statement(struct jparse *p);

/* JN_BODY: list. Parse up to a tag that begins with one of the words in `ends` (each followed by a
 * space), which becomes the current token. "": up to the end of the template. */
static struct jnode *parse_body(struct jparse *p, const char *ends)
{
	struct jnode *b = jparse_node(p, JN_BODY), *x;

	for (; b && p->tok->kind != JT_EOF;) {
		int kind = p->tok->kind;
		x = jparse_node(p, kind == JT_DATA ? JN_TEXT : JN_OUT);
		if (!x)
			return NULL;
		if (kind == JT_DATA) {
			x->str = jparse_str(p, p->tok->at, p->tok->len);
			p->tok++;
		} else if (kind == JT_VAR) {
			p->tok++;
			if (!(x->a = jparse_tuple(p, 0)) || jparse_expect(p, JT_VAR_END, "}}"))
				return NULL;
		} else {
			p->tok++;
			for (const char *e = ends; *e; e = strchr(e, ' ') + 1)
				if (p->tok->kind == JT_NAME && strcspn(e, " ") == p->tok->len &&
				    !memcmp(e, p->tok->at, p->tok->len))
					return b;
			if (!(x = parse_statement(p)) || jparse_expect(p, JT_BLOCK_END, "%}"))
				return NULL;
		}
		if (jparse_push(p, &b->list, &b->n, x))
			return NULL;
	}
	return b && *ends ? jparse_fail(p, "the template ends before {%% %.*s %%}",
	                                (int)strcspn(ends, " "), ends)
	                  : b;
}

/* Parse the block of a tag, from its %} up to one of `ends`. */
static struct jnode *parse_block(struct jparse *p, const char *ends)
{
	if (p->tok->kind == JT_COLON)
		p->tok++;
	return jparse_expect(p, JT_BLOCK_END, "%}") ? NULL : parse_body(p, ends);
}

/* Parse a block with a scope of its own, in which unknown filters fail at once. */
static struct jnode *parse_scoped(struct jparse *p, const char *ends)
{
	int soft = p->soft;

	p->soft = 0;
	struct jnode *b = parse_block(p, ends);
	p->soft = soft;
	return b;
}

/* JN_IF: a, body b, else c, which for elif is a JN_IF. */
static struct jnode *parse_if(struct jparse *p)
{
	struct jnode *first = jparse_node(p, JN_IF), *n = first;

	p->soft++;
	while (n) {
		if (!(n->a = jparse_tuple(p, JTUPLE_NO_IF)) ||
		    !(n->b = parse_block(p, "elif else endif ")))
			return NULL;
		if (jparse_skip(p, "endif"))
			break;
		if (jparse_skip(p, "else")) {
			if (!(n->c = parse_block(p, "endif ")))
				return NULL;
			p->tok++;
			break;
		}
		p->tok++;
		n = n->c = jparse_node(p, JN_IF);
	}
	p->soft--;
	return first;
}

/* JN_FOR: target list[0], iterable a, body b, else c or NULL, condition d or NULL, recursive. */
static struct jnode *parse_for(struct jparse *p)
{
	struct jnode *n = jparse_node(p, JN_FOR), *target;
	int soft = p->soft;

	if (!n || !(target = jparse_target(p, 1)) || jparse_push(p, &n->list, &n->n, target))
		return NULL;
	if (!jparse_skip(p, "in"))
		return jparse_fail(p, "expected in");
	if (!(n->a = jparse_tuple(p, JTUPLE_NO_IF | JTUPLE_TO_RECURSIVE)))
		return NULL;
	p->soft = 0;
	if (jparse_skip(p, "if") && !(n->d = jparse_expr(p)))
		return NULL;
	n->recursive = (uint8_t)jparse_skip(p, "recursive");
	p->loops++;
	n->b = parse_block(p, "endfor else ");
	p->loops--;
	if (!n->b)
		return NULL;
	if (jparse_skip(p, "else") && !(n->c = parse_block(p, "endfor ")))
		return NULL;
	p->tok += !!n->c;
	if (!n->c)
		jparse_skip(p, "endfor");
	p->soft = soft;
	return n;
}

/* JN_SET: target a, value b. JN_SETBLOCK: target a, body b, filters c applied to JN_INPUT, or
 * NULL. */
static struct jnode *parse_set(struct jparse *p)
{
	struct jnode *n = jparse_node(p, JN_SET), *in;

	if (!n || !(n->a = jparse_target(p, 0)))
		return NULL;
	if (p->tok->kind == JT_ASSIGN) {
		p->tok++;
		return (n->b = jparse_tuple(p, 0)) ? n : NULL;
	}
	n->kind = JN_SETBLOCK;
	if (p->tok->kind == JT_PIPE &&
	    (!(in = jparse_node(p, JN_INPUT)) || !(n->c = jparse_filters(p, in, 0))))
		return NULL;
	if (!(n->b = parse_scoped(p, "endset ")))
		return NULL;
	p->tok++;
	return n;
}

/* Parse (a, b=1). list: n names, then the defaults of the last `id` of them. Returns 1 on
 * failure. */
static int parse_signature(struct jparse *p, struct jnode *m)
{
	struct jnode *x, **defaults = NULL;
	uint32_t nd = 0;

	if (jparse_expect(p, JT_LPAREN, "("))
		return 1;
	while (p->tok->kind != JT_RPAREN) {
		if (m->n && jparse_expect(p, JT_COMMA, ","))
			return 1;
		int uses = p->uses;
		if (p->tok->kind != JT_NAME || !(x = jparse_primary(p)) || x->kind != JN_NAME)
			return !jparse_fail(p, "expected the name of an argument");
		p->uses = uses;
		for (uint32_t i = 0; i < m->n; i++)
			if (m->list[i]->id == x->id)
				return !jparse_fail(p, "an argument is named twice");
		if (jparse_push(p, &m->list, &m->n, x))
			return 1;
		if (p->tok->kind == JT_ASSIGN) {
			p->tok++;
			if (!(x = jparse_expr(p)) || jparse_push(p, &defaults, &nd, x))
				return 1;
		} else if (nd) {
			return !jparse_fail(
				p, "an argument without a default follows one that has one");
		}
	}
	p->tok++;
	uint32_t names = m->n;
	for (uint32_t i = 0; i < nd; i++)
		if (jparse_push(p, &m->list, &m->n, defaults[i]))
			return 1;
	m->n = names;
	m->id = nd;
	return 0;
}

/* Parse the body of macro m into b; uses: the special names it uses. Returns 1 on failure. */
static int parse_macro_body(struct jparse *p, struct jnode *m, const char *end)
{
	int uses = p->uses, loops = p->loops;

	p->uses = p->loops = 0;
	m->b = parse_scoped(p, end);
	if (!m->b)
		return 1;
	m->uses = (uint8_t)p->uses;
	p->uses |= uses;
	p->loops = loops;
	p->tok++;
	return 0;
}

/* JN_MACRO: name a, list and id as parse_signature sets them, body b, uses. */
static struct jnode *parse_macro(struct jparse *p)
{
	struct jnode *n = jparse_node(p, JN_MACRO);

	if (!n || p->tok->kind != JT_NAME || !(n->a = jparse_primary(p)))
		return n ? jparse_fail(p, "expected the name of a macro") : NULL;
	if (n->a->kind != JN_NAME)
		return jparse_fail(p, "cannot assign to this");
	n->str = n->a->str;
	return parse_signature(p, n) || parse_macro_body(p, n, "endmacro ") ? NULL : n;
}

/* JN_CALLBLOCK: call c; otherwise a JN_MACRO without a name. */
static struct jnode *parse_call_block(struct jparse *p)
{
	struct jnode *n = jparse_node(p, JN_CALLBLOCK);

	if (!n || !(n->str = jparse_str(p, "caller", 6)) ||
	    (p->tok->kind == JT_LPAREN && parse_signature(p, n)))
		return NULL;
	if (!(n->c = jparse_expr(p)))
		return NULL;
	if (n->c->kind != JN_CALL)
		return jparse_fail(p, "expected a call");
	return parse_macro_body(p, n, "endcall ") ? NULL : n;
}

/* JN_FILTERBLOCK: filters c applied to JN_INPUT, body b. */
static struct jnode *parse_filter_block(struct jparse *p)
{
	struct jnode *n = jparse_node(p, JN_FILTERBLOCK), *in = jparse_node(p, JN_INPUT);

	if (!n || !in || !(n->c = jparse_filters(p, in, 1)) ||
	    !(n->b = parse_scoped(p, "endfilter ")))
		return NULL;
	p->tok++;
	return n;
}

/* JN_WITH: list of alternating targets and values, body b. */
static struct jnode *parse_with(struct jparse *p)
{
	struct jnode *n = jparse_node(p, JN_WITH), *x;

	while (n && p->tok->kind != JT_BLOCK_END) {
		if (n->n && jparse_expect(p, JT_COMMA, ","))
			return NULL;
		if (!(x = jparse_primary(p)))
			return NULL;
		if (x->kind != JN_NAME && x->kind != JN_TUPLE)
			return jparse_fail(p, "cannot assign to this");
		if (jparse_push(p, &n->list, &n->n, x) || jparse_expect(p, JT_ASSIGN, "=") ||
		    !(x = jparse_expr(p)) || jparse_push(p, &n->list, &n->n, x))
			return NULL;
	}
	if (!n || !(n->b = parse_scoped(p, "endwith ")))
		return NULL;
	p->tok++;
	return n;
}

/* JN_SCOPE: body b with a scope of its own. */
static struct jnode *parse_generation(struct jparse *p)
{
	struct jnode *n = jparse_node(p, JN_SCOPE);
	int loops = p->loops;

	p->loops = 0;
	if (!n || !(n->b = parse_scoped(p, "endgeneration ")))
		return NULL;
	p->loops = loops;
	p->tok++;
	return n;
}

static struct jnode *parse_print(struct jparse *p)
{
	struct jnode *b = jparse_node(p, JN_BODY), *x;

	while (b && p->tok->kind != JT_BLOCK_END) {
		if (b->n && jparse_expect(p, JT_COMMA, ","))
			return NULL;
		if (!(x = jparse_node(p, JN_OUT)) || !(x->a = jparse_expr(p)) ||
		    jparse_push(p, &b->list, &b->n, x))
			return NULL;
	}
	return b;
}

static struct jnode *parse_jump(struct jparse *p)
{
	return p->loops ? jparse_node(p, p->tok[-1].len == 5 ? JN_BREAK : JN_CONTINUE)
	                : jparse_fail(p, "break and continue must be inside a loop");
}

static struct jnode *parse_statement(struct jparse *p)
{
	static const struct {
		const char *name;
		struct jnode *(*parse)(struct jparse *);
	} tags[] = {
		{ "if", parse_if },
		{ "for", parse_for },
		{ "set", parse_set },
		{ "macro", parse_macro },
		{ "call", parse_call_block },
		{ "filter", parse_filter_block },
		{ "with", parse_with },
		{ "generation", parse_generation },
		{ "print", parse_print },
		{ "break", parse_jump },
		{ "continue", parse_jump },
		{ "extends", NULL },
		{ "include", NULL },
		{ "import", NULL },
		{ "from", NULL },
		{ "block", NULL },
		{ "autoescape", NULL },
	};

	if (p->tok->kind != JT_NAME)
		return jparse_fail(p, "expected a tag's name");
	if (++p->depth > 100)
		return jparse_fail(p, "the template is nested more than %d levels deep", 100);
	for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
		if (!jparse_is(p, tags[i].name))
			continue;
		if (!tags[i].parse) {
			p->rc = err_set(p->err, INFER_EUNSUP,
			                "%s: line %d: the tag '%s' is not supported", p->t->name,
			                p->tok->line, tags[i].name);
			return NULL;
		}
		p->tok++;
		struct jnode *n = tags[i].parse(p);
		p->depth--;
		return n;
	}
	return jparse_fail(p, "unknown tag '%.*s'", p->tok->len < 40 ? (int)p->tok->len : 40,
	                   p->tok->at);
}

/* ---- templates ---- */

/* Normalise newlines to \n, and remove the last one. */
static int normalize_newlines(struct jinja *t, const char *src, size_t n)
{
	char *s = arena_alloc(&t->arena, n + 1, 1);
	size_t k = 0;

	if (!s)
		return INFER_ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (src[i] == '\r' && i + 1 < n && src[i + 1] == '\n')
			continue;
		s[k++] = src[i] == '\r' ? '\n' : src[i];
	}
	if (k && s[k - 1] == '\n')
		k--;
	t->src = s;
	t->len = k;
	return INFER_OK;
}

static int parse_template(struct jinja *t, const char *src, size_t n, infer_error *err)
{
	struct jparse p = { .t = t, .err = err };
	struct jtok *tok = NULL;
	size_t count, good = utf8_check(src, n);

	if (good < n)
		return err_set(err, INFER_EFORMAT, "%s: not UTF-8 at byte %zu", t->name, good);
	if (normalize_newlines(t, src, n))
		return err_set(err, INFER_ENOMEM, "%s: out of memory", t->name);
	TRY(jinja_lex(t, &tok, &count, err));
	p.tok = tok;
	t->root = parse_body(&p, "");
	if (!p.rc && p.unknown) {
		t->root = NULL;
		p.rc = err_set(err, INFER_EFORMAT, "%s: line %d: no %s named '%.*s'", t->name,
		               p.unknown->line, p.unknown->kind == JN_FILTER ? "filter" : "test",
		               (int)(p.unknown->str->len & 63), p.unknown->str->at);
	}
	if (!p.rc && jinja_names(t))
		return err_set(err, INFER_ENOMEM, "%s: out of memory", t->name);
	return p.rc;
}

/* Shorten a long name to NAME_MOST bytes by leaving out its middle; the end of a path is kept. */
static void shorten_name(char out[NAME_MOST + 1], const char *name)
{
	enum { HEAD = 24, GAP = 3 };
	size_t n = strlen(name), head = HEAD, tail = n - (NAME_MOST - HEAD - GAP);

	if (n <= NAME_MOST) {
		memcpy(out, name, n + 1);
		return;
	}
	while (head && (name[head] & 0xc0) == 0x80)
		head--;
	while (tail < n && (name[tail] & 0xc0) == 0x80)
		tail++;
	snprintf(out, NAME_MOST + 1, "%.*s...%s", (int)head, name, name + tail);
}

int jinja_compile(struct jinja **out, const char *src, size_t n, const char *name, infer_error *err)
{
	struct jinja *t = mem_zalloc(MEM_JINJA, 1, sizeof *t);
	char called[NAME_MOST + 1];
	int rc;

	shorten_name(called, name);
	*out = NULL;
	if (!t)
		return err_set(err, INFER_ENOMEM, "%s: out of memory", called);
	arena_init(&t->arena, MEM_JINJA);
	t->name = arena_strndup(&t->arena, called, strlen(called));
	rc = t->name ? map_init(&t->names, MEM_JINJA, 0) : INFER_ENOMEM;
	if (rc)
		rc = err_set(err, rc, "%s: out of memory", called);
	else
		rc = parse_template(t, src, n, err);
	if (rc) {
		jinja_free(t);
		return rc;
	}
	*out = t;
	return INFER_OK;
}

void jinja_free(struct jinja *t)
{
	if (!t)
		return;
	map_fini(&t->names);
	arena_fini(&t->arena);
	mem_free(t);
}
