/* tests/tools/render.c - templates for scripts: many renderings in one process.
 *
 * Standard input: a JSON object a line: {"template": text, "context": {...}, "mutable": bool, "now": seconds, "steps": n}; all
 * but the template may be left out, and an absent template is that of the line before.  Output: a line each,
 * {"text": ..., "from": "0011..."} or {"error": ...}. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/jwrite.h"
#include "text/jinja.h"

static struct jinja *compiled;

static int one(const json_t *in, struct buf *text, struct buf *from, infer_error *err)
{
	const json_t *t = json_object_get(in, "template"), *context = json_object_get(in, "context");
	json_t *empty = json_object();
	static const char *const trusted[] = { "bos_token", "eos_token", "role", NULL };
	struct jinja_options o = {
		.flags = json_is_true(json_object_get(in, "mutable")) ? JINJA_MUTABLE : 0,
		.now = json_integer_value(json_object_get(in, "now")),
		.steps = (uint64_t)json_integer_value(json_object_get(in, "steps")),
		.trusted = trusted,
	};
	int rc = INFER_OK;

	if (t) {
		jinja_free(compiled);
		rc = jinja_compile(&compiled, json_string_value(t), json_string_length(t), "template", err);
	}
	if (!rc && !compiled)
		rc = INFER_EINVAL;
	if (!rc)
		rc = jinja_render(compiled, context ? context : empty, &o, text, from, err);
	json_decref(empty);
	return rc;
}

int main(void)
{
	struct buf text, from, line;
	char *at = NULL;
	size_t cap = 0;

	buf_init(&text, MEM_TEXT);
	buf_init(&from, MEM_TEXT);
	buf_init(&line, MEM_TEXT);
	for (ssize_t n; (n = getline(&at, &cap, stdin)) > 0;) {
		infer_error err = { .message = "no template" };
		struct jwrite w;
		json_t *in = json_loadb(at, (size_t)n, JSON_ALLOW_NUL, NULL);
		buf_clear(&text);
		buf_clear(&from);
		buf_clear(&line);
		jw_init(&w, &line);
		jw_object(&w, NULL);
		if (one(in, &text, &from, &err)) {
			jw_str(&w, "error", err.message);
		} else {
			for (size_t i = 0; i < from.len; i++)
				from.at[i] = (char)(from.at[i] + '0');
			jw_strn(&w, "text", text.at ? text.at : "", text.len);
			jw_strn(&w, "from", from.at ? from.at : "", from.len);
		}
		jw_end(&w);
		jw_line(&w);
		fwrite(line.at, 1, line.len, stdout);
		fflush(stdout);
		json_decref(in);
	}
	jinja_free(compiled);
	buf_fini(&text);
	buf_fini(&from);
	buf_fini(&line);
	free(at);
	return 0;
}
