/* chat/fit.c - adapting messages to the capabilities of a template. */
#include "chat/chat.h"
#include "base/err.h"
#include "base/jread.h"

#include <stdio.h>
#include <string.h>

static int is_role(const struct json *m, const char *role)
{
	return json_equals(json_get(m, "role"), role);
}

/* ---- checks ---- */

static int check_parts(const struct json *parts, size_t i, infer_error *err)
{
	size_t k = 0;

	json_each(p, parts) {
		const struct json *type = json_get(p, "type");
		if (!json_is_string(type))
			return err_set(err, INFER_EFORMAT,
			               "messages[%zu].content[%zu] must be an object with a type",
			               i, k);
		if (!json_equals(type, "text"))
			return err_set(
				err, INFER_EUNSUP,
				"messages[%zu].content[%zu]: a part of type %.*s is not supported",
				i, k, type->n < 40 ? (int)type->n : 40, type->s);
		if (!json_is_string(json_get(p, "text")))
			return err_set(err, INFER_EFORMAT,
			               "messages[%zu].content[%zu]: text must be a string", i, k);
		k++;
	}
	return INFER_OK;
}

static int check_calls(const struct json *calls, size_t i, infer_error *err)
{
	size_t k = 0;

	if (!json_is_array(calls))
		return err_set(err, INFER_EFORMAT, "messages[%zu].tool_calls must be an array", i);
	json_each(c, calls) {
		const struct json *f = json_get(c, "function");
		if (!json_is_string(json_get(f ? f : c, "name")))
			return err_set(err, INFER_EFORMAT,
			               "messages[%zu].tool_calls[%zu] has no name", i, k);
		k++;
	}
	return INFER_OK;
}

static int is_role_word(const struct json *s)
{
	for (size_t i = 0; i < json_bytes(s); i++)
		if (!(s->s[i] >= 'a' && s->s[i] <= 'z') && s->s[i] != '_')
			return 0;
	return s->n && s->n <= 32;
}

static int check_chat_message(const struct json *m, size_t i, infer_error *err)
{
	const struct json *content = json_get(m, "content"), *calls = json_get(m, "tool_calls"),
			  *role = json_get(m, "role");

	if (!json_is_string(role))
		return err_set(err, INFER_EFORMAT, "messages[%zu] must be an object with a role",
		               i);
	if (!is_role_word(role))
		return err_set(err, INFER_EFORMAT,
		               "messages[%zu]: the role must be a word of small letters", i);
	if (content && !json_is_string(content) && !json_is_null(content) &&
	    !json_is_array(content))
		return err_set(err, INFER_EFORMAT,
		               "messages[%zu]: content must be a string, null or an array", i);
	if (json_is_array(content))
		TRY(check_parts(content, i, err));
	return calls && !json_is_null(calls) ? check_calls(calls, i, err) : INFER_OK;
}

const struct json *chat_messages(const struct json *j)
{
	const struct json *inside = json_get(j, "messages");

	return json_is_object(j) && json_count(j) == 1 && inside ? inside : j;
}

int chat_check(const struct json *messages, infer_error *err)
{
	size_t i = 0;

	if (!json_is_array(messages))
		return err_set(err, INFER_EFORMAT, "messages must be an array");
	json_each(m, messages)
		TRY(check_chat_message(m, i++, err));
	return INFER_OK;
}

/* True if the text contains the word in single or double quotes. */
static int has_quoted(const struct buf *text, const struct json *word)
{
	char quoted[2][48];
	int n = (int)json_bytes(word), len = n + 2;

	snprintf(quoted[0], sizeof *quoted, "'%.*s'", n, json_str(word));
	snprintf(quoted[1], sizeof *quoted, "\"%.*s\"", n, json_str(word));
	for (int i = 0; text->len && i < 2; i++)
		if (memmem(text->at, text->len, quoted[i], (size_t)len))
			return 1;
	return 0;
}

int chat_check_roles(const struct json *messages, const struct buf *source, infer_error *err)
{
	static const char *const known[] = { "system",    "developer", "user",
		                             "assistant", "tool",      "function" };
	size_t i = 0;

	json_each(m, messages) {
		const struct json *role = json_get(m, "role");
		int is = 0;

		for (size_t k = 0; k < sizeof known / sizeof *known; k++)
			is |= json_equals(role, known[k]);
		if (!is && !has_quoted(source, role))
			return err_set(err, INFER_EINVAL,
			               "messages[%zu]: the role '%.*s' is unknown: it is none of "
			               "OpenAI's, and the chat template does not name it",
			               i, (int)json_bytes(role), json_str(role));
		i++;
	}
	return INFER_OK;
}

/* ---- one message ---- */

static struct json *from_buf(struct arena *a, const struct buf *b)
{
	a->bad |= b->bad;
	return json_new_strn(a, b->at, b->len);
}

/* Join content parts to one string, one line per part, as other servers do. */
static struct json *joined(struct arena *a, const struct json *parts)
{
	struct json *s;
	struct buf b;

	buf_init(&b, MEM_CHAT);
	json_each(p, parts) {
		const struct json *text = json_get(p, "text");
		if (p != parts->first)
			buf_putc(&b, '\n');
		buf_put(&b, json_str(text), json_bytes(text));
	}
	s = from_buf(a, &b);
	buf_fini(&b);
	return s;
}

/* Convert content parts to one string, or a string to one part, as the template needs. */
static void fit_content(struct arena *a, struct json *m, const struct infer_chat_caps *caps)
{
	struct json *content = json_get(m, "content"), *to, *part;

	if (json_is_array(content) && !caps->parts) {
		to = joined(a, content);
	} else if (json_is_string(content) && caps->only_parts) {
		to = json_new(a, JSON_ARRAY);
		part = json_new(a, JSON_OBJECT);
		json_set(part, "type", json_new_str(a, "text"));
		json_set(part, "text", json_share(a, content));
		json_append(to, part);
	} else {
		return;
	}
	json_set(m, "content", to);
}

/* Set *out to the text that the filter tojson writes for v. */
static int to_text(struct json **out, struct arena *a, const struct json *v, infer_error *err)
{
	static const char src[] = "{{ v|tojson }}";
	struct json *context = json_new(a, JSON_OBJECT);
	struct jinja *t = NULL;
	struct buf b;

	json_set(context, "v", json_share(a, v));
	if (a->bad)
		return err_nomem(err);
	buf_init(&b, MEM_CHAT);
	int rc = jinja_compile(&t, src, sizeof src - 1, "arguments", err);
	if (!rc)
		rc = jinja_render(t, context, NULL, &b, NULL, err);
	if (!rc && !(*out = json_new_strn(a, b.at, b.len)))
		rc = err_nomem(err);
	jinja_free(t);
	buf_fini(&b);
	return rc;
}

/* Convert the arguments of a call to an object or to text, as the template needs. */
static int fit_arguments(struct arena *a, struct json *f, const struct infer_chat_caps *caps,
                         size_t i, infer_error *err)
{
	const struct json *args = json_get(f, "arguments"), *read;
	struct json *to = NULL;
	char what[64];

	if (json_is_string(args) && caps->objects) {
		snprintf(what, sizeof what, "messages[%zu]: the arguments of a call", i);
		if (args->n) {
			TRY(jread(&read, a, args->s, args->n, what, err));
			to = json_share(a, read);
		} else {
			to = json_new(a, JSON_OBJECT);
		}
	} else if (json_is_object(args) && caps->calls && !caps->objects) {
		TRY(to_text(&to, a, args, err));
	} else {
		return INFER_OK;
	}
	json_set(f, "arguments", to);
	return INFER_OK;
}

/* Copy reasoning, found under any of three names, to both names that templates use, as transformers
 * does. */
static void fit_thoughts(struct arena *a, struct json *m)
{
	static const char *const names[] = { "reasoning_content", "thinking", "reasoning" };
	const struct json *thoughts = NULL;

	for (size_t i = 0; !thoughts && i < sizeof names / sizeof *names; i++) {
		thoughts = json_get(m, names[i]);
		thoughts = json_is_null(thoughts) ? NULL : thoughts;
	}
	if (!thoughts)
		return;
	if (!json_get(m, "thinking"))
		json_set(m, "thinking", json_share(a, thoughts));
	json_set(m, "reasoning_content", json_share(a, thoughts));
}

static int fit_calls(struct arena *a, struct json *m, const struct infer_chat_caps *caps, size_t i,
                     infer_error *err)
{
	struct json *calls = json_get(m, "tool_calls"), *content = json_get(m, "content");

	for (struct json *c = json_first(calls); c; c = c->next) {
		struct json *f = json_get(c, "function");
		TRY(fit_arguments(a, f ? f : c, caps, i, err));
	}
	if ((!content || json_is_null(content)) &&
	    !(json_count(calls) && caps->null_content && content))
		json_set(m, "content", json_new(a, JSON_STRING));
	return INFER_OK;
}

/* ---- the system turn ---- */

/* Return the texts of system turns, one per line, followed by the user's text; all contents are
 * strings. */
static struct json *words_of(struct arena *a, const struct json *systems, const struct json *user)
{
	struct json *s;
	struct buf b;

	buf_init(&b, MEM_CHAT);
	for (const struct json *m = systems; m; m = m->next) {
		const struct json *words = json_get(m, "content");
		buf_put(&b, json_str(words), json_bytes(words));
		buf_putc(&b, '\n');
	}
	buf_put(&b, json_str(json_get(user, "content")), json_bytes(json_get(user, "content")));
	s = from_buf(a, &b);
	buf_fini(&b);
	return s;
}

/* Move the text of each system turn into the following user turn.  Without a user turn, it becomes
 * one, or, if late is not NULL, is counted in *late. */
static void fold_system(struct arena *a, struct json *messages, size_t *late)
{
	/* systems: a list, latest turn first */
	struct json *m = json_first(messages), *next, *systems = NULL;
	size_t users = 0;

	json_each(u, messages)
		users += (size_t)is_role(u, "user");
	messages->first = messages->last = NULL;
	for (messages->n = 0; m; m = next) {
		next = m->next;
		m->next = NULL;
		if (is_role(m, "system") && users) {
			m->next = systems;
			systems = m;
			continue;
		}
		if (is_role(m, "system") && late) {
			++*late;
		} else if (is_role(m, "system")) {
			json_set(m, "role", json_new_str(a, "user"));
		} else if (is_role(m, "user")) {
			users--;
			if (systems)
				json_set(m, "content", words_of(a, systems, m));
			systems = NULL;
		}
		json_append(messages, m);
	}
}

int chat_fit(struct arena *a, struct json *messages, const struct infer_chat_caps *caps,
             size_t *late, infer_error *err)
{
	struct infer_chat_caps strings = *caps;
	size_t i = 0;

	/* convert all contents to strings, so that they can be joined, and to parts afterwards */
	strings.only_parts = 0;
	strings.parts &= caps->system;
	for (struct json *m = json_first(messages); m; m = m->next) {
		if (is_role(m, "developer") && !caps->developer)
			json_set(m, "role", json_new_str(a, "system"));
		fit_content(a, m, &strings);
		fit_thoughts(a, m);
		TRY(fit_calls(a, m, caps, i++, err));
	}
	if (!caps->system && !a->bad)
		fold_system(a, messages, late);
	for (struct json *m = json_first(messages); m; m = m->next)
		fit_content(a, m, caps);
	return a->bad ? err_nomem(err) : INFER_OK;
}
