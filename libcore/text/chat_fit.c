/* text/chat_fit.c - the policy: messages made to fit what a template can do. */
#include "text/chat.h"
#include "base/err.h"
#include "base/jread.h"

#include <stdio.h>
#include <string.h>

static int nomem(infer_error *err)
{
	return err_set(err, INFER_ENOMEM, "out of memory for a conversation");
}

static int is_role(const json_t *m, const char *role)
{
	return !strcmp(json_string_value(json_object_get(m, "role")), role);
}

/* ---- checks ---- */

static int check_parts(const json_t *parts, size_t i, infer_error *err)
{
	for (size_t k = 0; k < json_array_size(parts); k++) {
		const json_t *p = json_array_get(parts, k);
		const char *type = json_string_value(json_object_get(p, "type"));
		if (!type)
			return err_set(err, INFER_EFORMAT, "messages[%zu].content[%zu]: wants an object with a type", i, k);
		if (strcmp(type, "text"))
			return err_set(err, INFER_EUNSUP, "messages[%zu].content[%zu]: a part of type %.40s is not supported", i, k, type);
		if (!json_is_string(json_object_get(p, "text")))
			return err_set(err, INFER_EFORMAT, "messages[%zu].content[%zu]: text is not a string", i, k);
	}
	return INFER_OK;
}

static int check_calls(const json_t *calls, size_t i, infer_error *err)
{
	if (!json_is_array(calls))
		return err_set(err, INFER_EFORMAT, "messages[%zu].tool_calls is not an array", i);
	for (size_t k = 0; k < json_array_size(calls); k++) {
		const json_t *c = json_array_get(calls, k), *f = json_object_get(c, "function");
		f = f ? f : c;
		if (!json_is_string(json_object_get(f, "name")))
			return err_set(err, INFER_EFORMAT, "messages[%zu].tool_calls[%zu] has no name", i, k);
	}
	return INFER_OK;
}

static int check(const json_t *m, size_t i, infer_error *err)
{
	const json_t *content = json_object_get(m, "content"), *calls = json_object_get(m, "tool_calls");
	const char *role = json_string_value(json_object_get(m, "role"));

	if (!json_is_object(m) || !role)
		return err_set(err, INFER_EFORMAT, "messages[%zu] is not an object with a role", i);
	if (!*role || role[strspn(role, "abcdefghijklmnopqrstuvwxyz_")] || strlen(role) > 32)
		return err_set(err, INFER_EFORMAT, "messages[%zu]: the role is not a word of small letters", i);
	if (content && !json_is_string(content) && !json_is_null(content) && !json_is_array(content))
		return err_set(err, INFER_EFORMAT, "messages[%zu]: content is neither a string nor null nor an array", i);
	if (json_is_array(content))
		TRY(check_parts(content, i, err));
	return calls && !json_is_null(calls) ? check_calls(calls, i, err) : INFER_OK;
}

int chat_check(const json_t *messages, infer_error *err)
{
	if (!json_is_array(messages))
		return err_set(err, INFER_EFORMAT, "messages is not an array");
	for (size_t i = 0; i < json_array_size(messages); i++)
		TRY(check(json_array_get(messages, i), i, err));
	return INFER_OK;
}

/* ---- one message ---- */

/* Content parts to one string, or a string to one part, as the template wants it. */
static int fit_content(json_t *m, const struct infer_chat_caps *caps, infer_error *err)
{
	json_t *content = json_object_get(m, "content"), *to = NULL;
	struct buf b;

	if (json_is_array(content) && !caps->parts) {
		buf_init(&b, MEM_TEXT);
		for (size_t k = 0; k < json_array_size(content); k++) {
			const json_t *text = json_object_get(json_array_get(content, k), "text");
			buf_put(&b, json_string_value(text), json_string_length(text));
		}
		to = b.bad ? NULL : json_stringn(b.at ? b.at : "", b.len);
		buf_fini(&b);
	} else if (json_is_string(content) && caps->only_parts) {
		to = json_pack("[{s:s, s:O}]", "type", "text", "text", content);
	} else {
		return INFER_OK;
	}
	return json_object_set_new(m, "content", to) ? nomem(err) : INFER_OK;
}

/* v as the templates' own tojson writes it, as a JSON string. */
static int to_text(json_t **out, json_t *v, infer_error *err)
{
	static const char src[] = "{{ v|tojson }}";
	json_t *context = json_pack("{s:O}", "v", v);
	struct jinja *t = NULL;
	struct buf b;

	*out = NULL;
	if (!context)
		return nomem(err);
	buf_init(&b, MEM_TEXT);
	int rc = jinja_compile(&t, src, sizeof src - 1, "arguments", err);
	if (!rc)
		rc = jinja_render(t, context, NULL, &b, NULL, err);
	if (!rc && !(*out = json_stringn(b.at, b.len)))
		rc = nomem(err);
	jinja_free(t);
	json_decref(context);
	buf_fini(&b);
	return rc;
}

/* Arguments as an object where the template wants one, else as text. */
static int fit_arguments(json_t *f, const struct infer_chat_caps *caps, size_t i, infer_error *err)
{
	json_t *args = json_object_get(f, "arguments"), *to;
	char what[64];

	if (json_is_string(args) && caps->objects) {
		snprintf(what, sizeof what, "messages[%zu]: the arguments of a call", i);
		if (!json_string_length(args))
			to = json_object();
		else
			TRY(jread(&to, json_string_value(args), json_string_length(args), what, err));
	} else if (json_is_object(args) && caps->calls && !caps->objects) {
		TRY(to_text(&to, args, err));
	} else {
		return INFER_OK;
	}
	return json_object_set_new(f, "arguments", to) ? nomem(err) : INFER_OK;
}

static int fit_calls(json_t *m, const struct infer_chat_caps *caps, size_t i, infer_error *err)
{
	json_t *calls = json_object_get(m, "tool_calls"), *content = json_object_get(m, "content");

	for (size_t k = 0; k < json_array_size(calls); k++) {
		json_t *c = json_array_get(calls, k), *f = json_object_get(c, "function");
		TRY(fit_arguments(f ? f : c, caps, i, err));
	}
	if ((!content || json_is_null(content)) && !(json_array_size(calls) && caps->null_content && content) &&
	    json_object_set_new(m, "content", json_string("")))
		return nomem(err);
	return INFER_OK;
}

/* ---- the system turn ---- */

/* Put the system's words on a line before those of the user; both are strings here. */
static int put_before(json_t *user, const json_t *system, infer_error *err)
{
	json_t *old = json_object_get(user, "content"), *s = json_object_get(system, "content"), *to = NULL;
	struct buf b;

	buf_init(&b, MEM_TEXT);
	buf_put(&b, json_string_value(s), json_string_length(s));
	buf_putc(&b, '\n');
	if (json_is_string(old))
		buf_put(&b, json_string_value(old), json_string_length(old));
	to = b.bad ? NULL : json_stringn(b.at, b.len);
	buf_fini(&b);
	return json_object_set_new(user, "content", to) ? nomem(err) : INFER_OK;
}

/* Each system turn goes into the user's turn that follows it; where none does, it becomes one. */
static int fold_system(json_t *messages, infer_error *err)
{
	for (size_t i = 0; i < json_array_size(messages);) {
		json_t *m = json_array_get(messages, i), *next = NULL;
		if (!is_role(m, "system")) {
			i++;
			continue;
		}
		for (size_t k = i + 1; k < json_array_size(messages) && !next; k++)
			if (is_role(json_array_get(messages, k), "user"))
				next = json_array_get(messages, k);
		if (!next) {
			if (json_object_set_new(m, "role", json_string("user")))
				return nomem(err);
			continue;
		}
		TRY(put_before(next, m, err));
		json_array_remove(messages, i);
	}
	return INFER_OK;
}

int chat_fit(json_t **out, const json_t *messages, const struct infer_chat_caps *caps, infer_error *err)
{
	json_t *all;
	int rc = INFER_OK, fold = !caps->system;
	struct infer_chat_caps strings = *caps;

	*out = NULL;
	if (!(all = json_deep_copy(messages)))
		return nomem(err);
	strings.only_parts = 0;   /* first all strings, to be joined; parts where the template wants them come last */
	if (fold)
		strings.parts = 0;
	for (size_t i = 0; !rc && i < json_array_size(all); i++) {
		json_t *m = json_array_get(all, i);
		if (is_role(m, "developer") && !caps->developer && json_object_set_new(m, "role", json_string("system")))
			rc = nomem(err);
		if (!rc)
			rc = fit_content(m, &strings, err);
		if (!rc)
			rc = fit_calls(m, caps, i, err);
	}
	if (!rc && fold)
		rc = fold_system(all, err);
	for (size_t i = 0; !rc && i < json_array_size(all); i++)
		rc = fit_content(json_array_get(all, i), caps, err);
	if (rc) {
		json_decref(all);
		return rc;
	}
	*out = all;
	return INFER_OK;
}
