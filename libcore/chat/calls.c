/* chat/calls.c - the grammar of an answer with tool calls, built from parts */
#include "chat/calls.h"
#include "base/err.h"
#include "chat/chat.h"
#include "chat/dialect.h"
#include "grammar/parts.h"
#include "grammar/shared.h"
#include "automata/regex.h"

#include <stdio.h>
#include <string.h>

struct calls {
	struct parts *p;
	const struct infer_chat *chat;
	const struct dialect *f;
	const struct dialect_form *form;
	const struct calls_ask *ask;
	struct budget *left;
	infer_error *err;
	/* the current tool, and its name for errors */
	const struct chat_tool *tool;
	char what[120];
	/* nested tags: [0] if chat_tools_known(tool), otherwise [1] */
	struct part_spelling nested[2];
	char nest[4][48];
};

static int in_source(const struct infer_chat *chat, const char *s)
{
	return chat->source.len && memmem(chat->source.at, chat->source.len, s, strlen(s)) != NULL;
}

static uint32_t empty_part(struct parts *p) { return parts_sequence(p, 0); }

/* -- arguments ------------------------------------------------------------------------------ */

static const struct part_spelling python_values = {
	.object = { "{", "}" },
	.comma = ", ",
	.name = { "", ": " },
	.word = { "None", "False", "True" },
	.quote = "\"",
	.list = { "[", "]" },
	.escapes = 1,
};
static const struct part_spelling python = {
	.object = { "(", ")" },
	.comma = ", ",
	.name = { "", "=" },
	.word = { "None", "False", "True" },
	.quote = "\"",
	.list = { "[", "]" },
	.escapes = 1,
	.nested = &python_values,
};
static const struct part_spelling gemma_values = {
	.object = { "{", "}" },
	.comma = ",",
	.name = { "", ":" },
	.end = "<|\"|>",
	.word = { "null", "false", "true" },
	.quote = "<|\"|>",
	.list = { "[", "]" },
	.bare = 1,
};
static const struct part_spelling gemma = {
	.object = { "{", "}" },
	.comma = ",",
	.name = { "", ":" },
	.end = "<|\"|>",
	.word = { "null", "false", "true" },
	.quote = "<|\"|>",
	.list = { "[", "]" },
	.nested = &gemma_values,
};

/* Return the kind of value that reply/tags.c reads for a parameter. */
static enum part_value value_kind(const void *user, const char *name, size_t n)
{
	const struct calls *c = user;
	int kinds;

	if (c->f->param[1])
		return PART_TYPED;
	kinds = chat_tools_value(c->tool, name, n);
	if (!(kinds & VALUE_TEXT))
		return PART_JSON;
	return kinds & VALUE_NULL ? PART_RAW_OR_NULL : PART_RAW;
}

/* Write the literal text of a pattern before the parameter's name, or, with `behind`, after it;
 * `lead` is appended to the latter.  White space becomes a newline, DIALECT_ANY becomes `any`. */
static const char *param_side(char *to, size_t size, const char *pattern, int behind,
                              const char *any, const char *lead)
{
	size_t n = 0;
	int here = !behind;

	to[0] = 0;
	for (; *pattern; pattern++) {
		if (*pattern == *DIALECT_IDB)
			here = 0;
		else if (*pattern == *DIALECT_IDE)
			here = behind;
		else if (here && *pattern == *DIALECT_ANY)
			n += (size_t)snprintf(to + n, size - n, "%s", any);
		else if (here && n + 1 < size)
			to[n++] = (char)(*pattern == *DIALECT_WS ? '\n' : *pattern);
		must(n + 1 < size);
	}
	to[n] = 0;
	if (behind)
		snprintf(to + n, size - n, "%s", lead);
	return to;
}

/* Return arguments as nested tags. */
static uint32_t nested_tags(struct calls *c, const struct json *schema, const struct schema_opts *o)
{
	static const char *const texts[] = { "%s<", "%s</", "%s<item>", "%s</item>" };

	for (int i = 0; i < 4; i++)
		snprintf(c->nest[i], sizeof c->nest[i], texts[i], c->f->nest);
	for (int i = 0; i < 2; i++)
		c->nested[i] = (struct part_spelling){
			.object = { "", "" },
			.comma = "",
			.name = { c->nest[0], ">" },
			.after = { c->nest[1], ">" },
			.item = { c->nest[2], c->nest[3] },
			.end = c->f->nest,
			.word = { NULL, "false", "true" },
			.quote = "",
			.list = { "", "" },
			.untyped = i ? PART_NOT_LIKE_JSON : PART_AS_STRING,
		};
	return parts_spelled(c->p, schema, o, &c->nested[!chat_tools_known(c->tool)], c->what);
}

static uint32_t tag_arguments(struct calls *c, const struct json *schema,
                              const struct schema_opts *o)
{
	static const char *const types[] = { "null", "boolean", "number", "array", "object" };
	const int framed = c->f->flags & DIALECT_NEWLINES && !(c->f->flags & DIALECT_UNFRAMED);
	const char *const line = framed ? "\n" : "", *const *param = c->f->param,
			  *json = param[1] ? param[1] : param[0];
	char before[80], text[80], other[80], end[80], marked[100], typed[5][80];
	struct part_spelling how = {
		.object = { "", "" },
		.comma = "",
		.name = { param_side(before, sizeof before, param[0], 0, "", ""), "" },
		.raw = { param_side(text, sizeof text, param[0], 1, "", line), end },
		.json = { param_side(other, sizeof other, json, 1, "", line), end },
		.end = c->f->param_end,
		.value = value_kind,
		.user = c,
	};
	char cdata_end[40];

	snprintf(end, sizeof end, "%s%s%s", line, c->f->param_end,
	         c->f->flags & DIALECT_TIGHT ? "" : "\n");
	for (size_t i = 0; i < 5 && strchr(json, *DIALECT_ANY) != strrchr(json, *DIALECT_ANY); i++)
		how.typed[i] = param_side(typed[i], sizeof typed[i], json, 1, types[i], line);
	if (c->f->flags & DIALECT_UNFRAMED)
		how.special = "\\n[\\s\\S]*";
	if (c->f->cdata[0]) {
		snprintf(marked, sizeof marked, "%s%s", text, c->f->cdata[0]);
		snprintf(cdata_end, sizeof cdata_end, "%s", c->f->cdata[1]);
		how.special = "[\\s\\S]*[<&\\n][\\s\\S]*";
		how.marked[0] = marked;
		how.marked[1] = cdata_end;
	}
	return parts_spelled(c->p, schema, o, &how, c->what);
}

/* True if the schema of a tool has no properties and no other keyword that constrains them. */
static int has_none(const struct json *schema)
{
	static const char *const words[] = { "type",  "properties", "required", "description",
		                             "title", "$schema",    "strict" };
	const struct json *p = json_get(schema, "properties");

	if (!schema || json_is_null(schema))
		return 1;
	if (!json_is_object(schema) || (!p && json_count(schema)) || json_count(p))
		return 0;
	json_each(m, schema) {
		size_t k = 0;

		while (k < sizeof words / sizeof *words &&
		       (strlen(words[k]) != m->key_n || memcmp(words[k], m->key, m->key_n) != 0))
			k++;
		if (k == sizeof words / sizeof *words)
			return 0;
	}
	return 1;
}

static uint32_t argument_parts(struct calls *c, const struct json *function)
{
	struct json no = { .kind = JSON_FALSE, .key = "additionalProperties", .key_n = 20 },
		    none = { .kind = JSON_OBJECT, .n = 1, .first = &no, .last = &no };
	const struct json *schema = json_get(function, "parameters");
	const int strict = json_is(json_get(function, "strict"), JSON_TRUE);
	const struct schema_opts o = { .lax = !strict,
		                       .annotate = !strict,
		                       .ordered = 1,
		                       .canonical = 1,
		                       .closed = 1,
		                       .short_names = 1 };

	if (has_none(schema))
		schema = &none;
	switch (c->form->args) {
	case ARGS_TAGS:
		return c->f->nest ? nested_tags(c, schema, &o) : tag_arguments(c, schema, &o);
	case ARGS_PYTHON:
		return parts_spelled(c->p, schema, &o, &python, c->what);
	case ARGS_GEMMA:
		return parts_spelled(c->p, schema, &o, &gemma, c->what);
	case ARGS_ENVELOPE:
	case ARGS_KEYED:
	case ARGS_JSON:
	case ARGS_CODE:
		break;
	}
	return parts_object(c->p, schema, &o);
}

/* -- calls ---------------------------------------------------------------------------------- */

/* Return the length of the literal text at the beginning of a form. */
static size_t literal_of(const char *s)
{
	static const char patterns[] = DIALECT_WS DIALECT_NAME DIALECT_ANY DIALECT_IDB DIALECT_IDE
		DIALECT_PEEK DIALECT_ARGS DIALECT_DIGITS DIALECT_ID;

	return strcspn(s, patterns);
}

/* Return the part of a form from *s to the name of the tool, or to the end; moves *s there. */
static uint32_t form_part(struct calls *c, const char **s, const struct json *function)
{
	struct parts *p = c->p;
	uint32_t all = empty_part(p);

	while (**s && **s != *DIALECT_NAME) {
		const size_t n = literal_of(*s);
		uint32_t one;

		if (n)
			one = parts_text(p, *s, n);
		else if (**s == *DIALECT_ARGS)
			one = argument_parts(c, function);
		else if (**s == *DIALECT_DIGITS)
			one = parts_regex(p, "[0-9]{1,2}");
		else
			one = parts_regex(p, "[A-Za-z0-9]{9}");
		all = parts_sequence(p, 2, all, one);
		*s += n ? n : 1;
	}
	return all;
}

static uint32_t refuse_tool(struct calls *c, const char *why)
{
	return parts_refuse(c->p, INFER_EUNSUP, "%s: %s", c->what, why);
}

static int is_name(const struct chat_tool *t)
{
	for (size_t i = 0; i < t->len; i++)
		if ((unsigned char)t->name[i] <= ' ' || strchr("\"'\\<>()[]{},:=", t->name[i]))
			return 0;
	return t->len > 0 && t->len <= 200;
}

/* Return the part of a call that begins with the name of tool i. */
static uint32_t call_of(struct calls *c, size_t i, const struct json *entry, const char *s)
{
	const struct json *f = json_get(entry, "function");
	struct parts *p = c->p;
	uint32_t all;

	c->tool = c->ask->tools->at + i;
	snprintf(c->what, sizeof c->what, "tool %.60s in the format %s", c->tool->name, c->f->name);
	if (!is_name(c->tool))
		return refuse_tool(c, "a name that this format cannot write");
	all = parts_text(p, c->tool->name, c->tool->len);
	for (;; s++) { /* a form may contain the name twice */
		all = parts_sequence(p, 2, all, form_part(c, &s, f ? f : entry));
		if (!*s)
			return all ? all : parts_blame(p, c->what);
		all = parts_sequence(p, 2, all, parts_text(p, c->tool->name, c->tool->len));
	}
}

/* Return one call of any tool that may be called. */
static uint32_t one_call(struct calls *c)
{
	struct parts *p = c->p;
	const char *s = c->form->call;
	const uint32_t before = form_part(c, &s, NULL);
	uint32_t any = PART_NONE;
	size_t i = 0;

	json_each(entry, c->ask->tools->list) {
		if (c->ask->only < 0 || (size_t)c->ask->only == i) {
			const uint32_t one = call_of(c, i, entry, s + 1);

			any = any ? parts_either(p, 2, any, one) : one;
		}
		i++;
	}
	return parts_shared(p, parts_sequence(p, 2, before, any ? any : parts_either(p, 0)));
}

static uint32_t all_calls(struct calls *c)
{
	const struct dialect_form *f = c->form;
	struct parts *p = c->p;
	const uint32_t call = one_call(c);
	uint32_t more = empty_part(p);

	if (f->between && !c->ask->single)
		more = parts_repeat(p, parts_sequence(p, 2, parts_string(p, f->between), call), 0,
		                    CALLS_MOST - 1);
	return parts_sequence(p, 4, parts_string(p, f->open ? f->open : ""), call, more,
	                      parts_string(p, f->close ? f->close : ""));
}

/* -- text and reasoning around calls --------------------------------------------------------- */

static size_t trimmed_prompt(const struct calls_ask *ask)
{
	size_t n = ask->prompt_n;

	while (n && chat_space(ask->prompt[n - 1]))
		n--;
	return n;
}

static int prompt_ends(const struct calls_ask *ask, size_t n, const char *with)
{
	const size_t len = strlen(with);

	return n >= len && !memcmp(ask->prompt + n - len, with, len);
}

/* Write the tag that opens calls within text. */
static void opening_tag(const struct calls *c, char to[128])
{
	const char *open = c->form->open ? c->form->open : "";
	const size_t n = strlen(open), m = literal_of(c->form->call);
	size_t i = 1;

	if (c->form->begin) {
		snprintf(to, 128, "%s", c->form->begin);
		return;
	}
	must(n + m < 128);
	memcpy(to, open, n);
	memcpy(to + n, c->form->call, m);
	to[n + m] = 0;
	while (i < n + m && !strchr(">][", to[i]))
		i++;
	if (i < n + m)
		to[i + 1] = 0;
}

/* Add the tags that open a call in the other forms of the dialect: they are forbidden. */
static uint32_t add_others(struct calls *c, struct part_tag *tag, char (*text)[128])
{
	uint32_t n = 0;

	for (size_t i = 0; i < sizeof c->f->head / sizeof *c->f->head && c->f->head[i].as; i++) {
		const size_t len = literal_of(c->f->head[i].as);
		int known = c->f->head[i].args == ARGS_CODE || len < 6 || len >= 128;

		if (known)
			continue;
		memcpy(text[n + 1], c->f->head[i].as, len);
		text[n + 1][len] = 0;
		for (uint32_t k = 0; k <= n; k++)
			known |= strstr(text[k], text[n + 1]) != NULL;
		if (known)
			continue;
		n++;
		tag[n] = (struct part_tag){ text[n], parts_either(c->p, 0), 0 };
	}
	return n + 1;
}

/* Return the control tokens that may occur in text without opening a call. */
static uint32_t between_calls(struct calls *c)
{
	const struct dialect_think *t = c->chat->think;
	struct parts *p = c->p;
	uint32_t any = parts_either(p, 0);

	for (size_t i = 0; i < sizeof c->f->drop / sizeof *c->f->drop && c->f->drop[i]; i++)
		any = parts_either(p, 2, any, parts_string(p, c->f->drop[i]));
	if (t->flags & DIALECT_AGAIN && c->chat->thinks)
		any = parts_either(
			p, 2, any,
			parts_sequence(p, 2, parts_string(p, t->open), parts_until(p, t->close)));
	return any;
}

/* Return an answer in messages: calls, or a message with text, which calls may follow. */
static uint32_t message_or_calls(struct calls *c, uint32_t calls)
{
	const struct dialect_messages *m = c->f->messages;
	struct parts *p = c->p;
	const struct part_tag tag[] = {
		{ m->finished, parts_sequence(p, 2, parts_string(p, m->start), calls), 0 },
		{ m->start, parts_either(p, 0), 0 },
	};

	if (m->channels)
		return parts_either(
			p, 2, calls,
			parts_sequence(p, 3, parts_string(p, "<|channel|>final"),
		                       parts_regex(p, "[ a-z]{0,20}"),
		                       parts_sequence(p, 2, parts_string(p, "<|message|>"),
		                                      parts_without(p, NULL, 0))));
	return parts_either(p, 2, calls,
	                    parts_sequence(p, 2, parts_string(p, m->final),
	                                   parts_tags(p, tag, 2, PART_NONE, PART_TAGS_ONCE)));
}

/* Return the text before calls if there is no content; the prompt may contain its beginning. */
static uint32_t before_calls(struct calls *c)
{
	const char *before = c->form->before ? c->form->before : "", *also = c->chat->think->also;

	if (also && !strncmp(before, also, strlen(also)) &&
	    prompt_ends(c->ask, c->ask->prompt_n, also))
		before += strlen(also);
	return parts_string(c->p, before);
}

/* Return the texts of the answer's own constraint. */
static uint32_t constrained_text(struct calls *c)
{
	struct grammar *g;
	const int rc = grammar_compile(&g, c->ask->answer, c->left, c->err);

	return rc ? parts_refuse(c->p, rc, "%s", c->err ? c->err->message : "")
	          : parts_grammar(c->p, g);
}

/* Return calls, or a text of the answer's own constraint. */
static uint32_t constrained_or_calls(struct calls *c, uint32_t calls)
{
	const struct dialect_messages *m = c->f->messages;
	struct parts *p = c->p;
	uint32_t text = constrained_text(c);

	if (m && m->channels)
		text = parts_sequence(p, 4, parts_string(p, "<|channel|>final"),
		                      parts_regex(p, "[ a-z]{0,20}"),
		                      parts_string(p, "<|message|>"), text);
	else if (m || c->f->plain)
		text = parts_sequence(p, 2, parts_string(p, m ? m->final : c->f->plain), text);
	return parts_either(p, 2, parts_sequence(p, 2, before_calls(c), calls), text);
}

/* Return text, followed by calls once one is opened. */
static uint32_t text_or_calls(struct calls *c, uint32_t calls)
{
	enum { MOST = sizeof c->f->head / sizeof *c->f->head + 1 };
	struct part_tag tag[MOST];
	char text[MOST][128];
	struct parts *p = c->p;
	uint32_t n;

	if (c->f->messages)
		return message_or_calls(c, calls);
	if (*c->form->call == '{') /* calls can only be at the beginning */
		return parts_either(p, 2, calls,
		                    parts_regex(p, "(?!\\s*\\{\\s*\"name\"\\s*:)[\\s\\S]*"));
	if (c->f->plain)
		calls = parts_sequence(p, 2, parts_string(p, c->f->begun), calls);
	if (c->f->plain)
		snprintf(text[0], sizeof text[0], "%s", c->f->begun);
	else
		opening_tag(c, text[0]);
	tag[0] = (struct part_tag){ text[0], calls, 1 };
	n = add_others(c, tag, text);
	return parts_tags(p, tag, n, between_calls(c), PART_TAGS_ONCE);
}

/* Return open reasoning: any text until it is closed, then `rest`.  If calls are optional and the
 * reader ends reasoning at a call, calls may also follow without the closing tag.  Required calls
 * and constrained texts may not: the engine closes long reasoning, and could write the tag into an
 * argument. */
static uint32_t reasoning_parts(struct calls *c, uint32_t rest, uint32_t calls)
{
	enum { MOST = sizeof c->f->head / sizeof *c->f->head + 2 };
	const char *const close = c->chat->think->close;
	struct part_tag tag[MOST];
	char text[MOST][128];
	struct parts *p = c->p;
	uint32_t n;

	rest = parts_sequence(p, 2, parts_regex(p, "\\n{0,2}"), rest);
	if (!(c->f->flags & DIALECT_ENDS))
		return parts_sequence(p, 2, parts_until(p, close), rest);
	opening_tag(c, text[0]);
	if (c->ask->required || c->ask->answer || c->ask->closed)
		tag[0] = (struct part_tag){ text[0], parts_either(p, 0), 0 };
	else
		tag[0] = (struct part_tag){ text[0], calls, 1 };
	n = add_others(c, tag, text);
	tag[n++] = (struct part_tag){ close, rest, 0 };
	return parts_tags(p, tag, n, PART_NONE, PART_TAGS_ONCE | PART_TAGS_SOME);
}

/* Return `rest`, with reasoning before it. */
static uint32_t with_reasoning(struct calls *c, uint32_t rest, uint32_t calls)
{
	const struct dialect_messages *m = c->f->messages;
	const struct dialect_think *t = c->chat->think;
	const size_t n = trimmed_prompt(c->ask);
	struct parts *p = c->p;

	if (m)
		return parts_sequence(
			p, 2,
			parts_either(p, 2, empty_part(p),
		                     parts_sequence(p, 3, parts_string(p, m->reasoning),
		                                    parts_until(p, m->finished),
		                                    parts_string(p, m->start))),
			rest);
	if (c->f->begun || !c->chat->thinks || prompt_ends(c->ask, n, t->close) ||
	    (t->also && prompt_ends(c->ask, n, t->also)))
		return rest;
	if (prompt_ends(c->ask, n, t->open))
		return reasoning_parts(c, rest, calls);
	rest = parts_shared(p, rest);
	return parts_either(
		p, 2, rest,
		parts_sequence(p, 2, parts_string(p, t->open), reasoning_parts(c, rest, calls)));
}

static uint32_t answer_grammar(struct calls *c)
{
	const char *begun = c->f->begun ? c->f->begun : "";
	struct parts *p = c->p;
	const uint32_t calls = parts_shared(p, all_calls(c));
	uint32_t rest;

	if (prompt_ends(c->ask, c->ask->prompt_n, begun))
		begun = "";
	if (c->ask->required)
		rest = parts_sequence(p, 2, before_calls(c), calls);
	else if (c->ask->answer)
		rest = constrained_or_calls(c, calls);
	else if (c->f->plain)
		rest = parts_either(p, 2, calls,
		                    parts_sequence(p, 2, parts_string(p, c->f->plain),
		                                   text_or_calls(c, calls)));
	else
		rest = text_or_calls(c, calls);
	return parts_sequence(p, 2, parts_string(p, begun), with_reasoning(c, rest, calls));
}

int calls_grammar(struct grammar **out, const infer_chat *chat, const struct calls_ask *ask,
                  struct budget *left, infer_error *err)
{
	struct calls c = { .chat = chat,
		           .f = chat->calls,
		           .form = chat->calls->form,
		           .ask = ask,
		           .left = left,
		           .err = err };
	int rc;

	*out = NULL;
	rc = parts_new(&c.p, ask->controls, ask->n_controls, left, err);
	if (!rc) {
		while (c.form->sign && !in_source(chat, c.form->sign))
			c.form++;
		rc = parts_build(out, c.p, answer_grammar(&c));
	}
	return rc;
}
