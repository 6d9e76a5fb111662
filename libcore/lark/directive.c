/* lark/directive.c - %ignore, %import, %llguidance, and attributes of rules. */
#include "lark/tree.h"
#include "base/buf.h"
#include "base/jread.h"

#include <string.h>

static int is_text(const struct token *t, const char *s)
{
	return t->n == strlen(s) && !memcmp(t->at, s, t->n);
}

static int report_ignored(struct lark *p, const char *what)
{
	if (p->ignored) {
		buf_puts(p->ignored, what);
		buf_putc(p->ignored, 0);
	}
	return INFER_OK;
}

/* -- %import -------------------------------------------------------------------------------- */

/* the terminals of Lark's module `common` */
static const struct common {
	const char *name, *regex;
} common[] = {
	{ "DIGIT", "[0-9]" },
	{ "HEXDIGIT", "[0-9A-Fa-f]" },
	{ "INT", "[0-9]+" },
	{ "SIGNED_INT", "[+-]?[0-9]+" },
	{ "DECIMAL", "[0-9]+\\.[0-9]*|\\.[0-9]+" },
	{ "_EXP", "[eE][+-]?[0-9]+" },
	{ "FLOAT", "([0-9]+\\.[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+" },
	{ "SIGNED_FLOAT",
	  "[+-]?(([0-9]+\\.[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)" },
	{ "NUMBER", "([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([eE][+-]?[0-9]+)?" },
	{ "SIGNED_NUMBER", "[+-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([eE][+-]?[0-9]+)?" },
	{ "ESCAPED_STRING", "\"([^\"\\\\]|\\\\.)*\"" },
	{ "LCASE_LETTER", "[a-z]" },
	{ "UCASE_LETTER", "[A-Z]" },
	{ "LETTER", "[A-Za-z]" },
	{ "WORD", "[A-Za-z]+" },
	{ "CNAME", "[A-Z_a-z][0-9A-Z_a-z]*" },
	{ "WS_INLINE", "[ \\t]+" },
	{ "WS", "[ \\t\\f\\r\\n]+" },
	{ "CR", "\\r" },
	{ "LF", "\\n" },
	{ "NEWLINE", "(\\r?\\n)+" },
	{ "SH_COMMENT", "#[^\\n]*" },
	{ "CPP_COMMENT", "//[^\\n]*" },
	{ "C_COMMENT", "/\\*[^*]*\\*+([^/*][^*]*\\*+)*/" },
	{ "SQL_COMMENT", "--[^\\n]*" },
};

/* Define the terminal `as` as the one of common that `t` names. */
static int import_terminal(struct lark *p, const struct token *t, const struct token *as)
{
	struct def d = { .name = as->at, .n = as->n, .line = as->line, .is_terminal = 1 }, *to;

	for (size_t i = 0; i < sizeof common / sizeof *common; i++)
		if (t->kind == T_TERMINAL && as->kind == T_TERMINAL && is_text(t, common[i].name)) {
			TRY(lark_add_node(p, N_REGEX, &d.body));
			d.body->s = common[i].regex;
			d.body->n = (uint32_t)strlen(common[i].regex);
			d.body->flags = "";
			return lark_add_def(p, &d, &to);
		}
	return lark_fail(p, t->line, INFER_EUNSUP, "common has no terminal %.*s",
	                 t->n < 60 ? (int)t->n : 60, t->at);
}

static int parse_import(struct lark *p)
{
	const struct token *t = lark_token(p), *as;

	if (!is_text(t, "common"))
		return lark_fail(p, t->line, INFER_EUNSUP,
		                 "imports other than from common are not supported");
	p->at++;
	if (lark_accept(p, '(')) {
		do {
			t = lark_token(p);
			p->at += t->kind != T_END;
			TRY(import_terminal(p, t, t));
		} while (lark_accept(p, ','));
		return lark_expect(p, ')');
	}
	TRY(lark_expect(p, '.'));
	t = as = lark_token(p);
	p->at += t->kind != T_END;
	if (lark_token(p)->kind == T_ARROW) {
		p->at++;
		as = lark_token(p);
		p->at += as->kind != T_END;
	}
	return import_terminal(p, t, as);
}

/* -- options -------------------------------------------------------------------------------- */

static int apply_option(struct lark *p, uint32_t line, const struct json *v)
{
	const int on = v->kind == JSON_TRUE;

	if (v->key_n == 15 && !memcmp(v->key, "skip_repetition", 15) && v->kind == JSON_STRING) {
		const int once = v->n == 4 && !memcmp(v->s, "once", 4);

		if (once || (v->n == 9 && !memcmp(v->s, "unbounded", 9))) {
			p->scope->ignore_once = once;
			return INFER_OK;
		}
	} else if (json_is_bool(v)) {
		if (v->key_n == 11 && !memcmp(v->key, "ignore_once", 11)) {
			p->scope->ignore_once = on;
			return INFER_OK;
		}
		if (v->key_n == 18 && !memcmp(v->key, "allow_initial_skip", 18)) {
			p->scope->initial_skip = on;
			return INFER_OK;
		}
		if (v->key_n == 10 && !memcmp(v->key, "no_forcing", 10))
			return on ? report_ignored(p, "no_forcing") : INFER_OK;
		if (v->key_n == 18 && !memcmp(v->key, "allow_invalid_utf8", 18) && !on)
			return INFER_OK;
	}
	return lark_fail(p, line, INFER_EUNSUP, "%%llguidance: %.*s: not supported",
	                 v->key_n < 60 ? (int)v->key_n : 60, v->key);
}

static int parse_options(struct lark *p)
{
	const struct token *t = lark_token(p);
	const struct json *v;

	p->at++;
	TRY(jread(&v, &p->tree.mem, t->at, t->n, "%llguidance", p->w.err));
	if (!json_is(v, JSON_OBJECT))
		return lark_fail(p, t->line, INFER_EINVAL, "%%llguidance must be an object");
	json_each(x, v)
		TRY(apply_option(p, t->line, x));
	return INFER_OK;
}

int lark_directive(struct lark *p)
{
	const struct token *t = lark_token(p);
	struct node *x;

	p->at++;
	if (is_text(t, "%import"))
		return parse_import(p);
	if (is_text(t, "%llguidance"))
		return parse_options(p);
	if (!is_text(t, "%ignore"))
		return lark_fail(p, t->line, INFER_EUNSUP, "%.*s is not supported here",
		                 t->n < 60 ? (int)t->n : 60, t->at);
	TRY(lark_alternatives(p, &x, 0));
	if (!p->scope->ignore)
		TRY(lark_add_node(p, N_ALT, &p->scope->ignore));
	lark_add_kid(p->scope->ignore, x);
	return INFER_OK;
}

/* -- attributes ----------------------------------------------------------------------------- */

/* Read the name of a capture; captures have no effect. */
static int skip_capture(struct lark *p, uint32_t line)
{
	if (lark_token(p)->kind != T_TEXT)
		return lark_fail(p, line, INFER_EINVAL, "the name of a capture is missing");
	p->at++;
	return INFER_OK;
}

static int parse_suffix(struct lark *p, struct def *d, uint32_t line)
{
	if (d->suffix)
		return lark_fail(p, line, INFER_EINVAL, "a rule has two suffixes");
	TRY(lark_expect(p, '='));
	d->is_lazy = 1;
	TRY(lark_value(p, &d->suffix));
	if (d->suffix->kind == N_TEXT && !d->suffix->n)
		return lark_fail(p, line, INFER_EUNSUP, "an empty suffix is not supported");
	return INFER_OK;
}

static int refuse_attribute(struct lark *p, const struct token *t)
{
	static const struct {
		const char *name, *why;
	} refused[] = {
		{ "stop", "it would take back text that is written; use suffix= or lazy" },
		{ "max_tokens", "a grammar does not count tokens; limit the text, as in /.{1,9}/" },
		{ "temperature", "it is one for the whole answer" },
	};

	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		if (is_text(t, refused[i].name))
			return lark_fail(p, t->line, INFER_EUNSUP, "%s= is not supported: %s",
			                 refused[i].name, refused[i].why);
	return lark_fail(p, t->line, INFER_EINVAL, "not an attribute of a rule: %.*s",
	                 t->n < 60 ? (int)t->n : 60, t->at);
}

/* Parse an attribute.  *of_suffix: 1 for stop_capture=, which needs a suffix */
static int parse_attribute(struct lark *p, struct def *d, int *of_suffix)
{
	const struct token *t = lark_token(p);

	p->at++;
	if (is_text(t, "capture")) {
		if (lark_accept(p, '='))
			TRY(skip_capture(p, t->line));
		return report_ignored(p, "capture");
	}
	if (is_text(t, "stop_capture")) {
		*of_suffix = 1;
		TRY(lark_expect(p, '='));
		TRY(skip_capture(p, t->line));
		return report_ignored(p, "stop_capture");
	}
	if (is_text(t, "lazy")) {
		d->is_lazy = 1;
		return INFER_OK;
	}
	return is_text(t, "suffix") ? parse_suffix(p, d, t->line) : refuse_attribute(p, t);
}

int lark_attributes(struct lark *p, struct def *d)
{
	int of_suffix = 0;

	TRY(lark_expect(p, '['));
	while (!lark_at(p, ']')) {
		TRY(parse_attribute(p, d, &of_suffix));
		if (!lark_accept(p, ','))
			break;
	}
	if (of_suffix && !d->suffix)
		return lark_fail(p, d->line, INFER_EINVAL, "stop_capture= needs suffix=");
	if (d->is_lazy && d->is_parametric)
		return lark_fail(p, d->line, INFER_EUNSUP,
		                 "a rule with a parameter cannot have lazy or suffix=");
	return lark_expect(p, ']');
}
