/* tests/tools/render.c - templates for scripts: many renderings in one process.
 *
 * Standard input: a JSON object a line: {"template": text, "context": {...}, "mutable": bool,
 * "now": seconds, "steps": n}; all but the template may be left out, and an absent template is that
 * of the line before.  Output: a line each, {"text": ..., "from": "0011...", ...} or {"error": ...,
 * ...}, and "used", the steps taken, and "cpu_us". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/jread.h"
#include "base/jwrite.h"
#include "jinja/jinja.h"

static struct jinja *compiled;

static int64_t whole(const struct json *v) { return json_is(v, JSON_INT) ? v->i : 0; }

static int one(const struct json *in, struct buf *text, struct buf *from, uint64_t *used,
               infer_error *err)
{
	static const struct json empty = { .kind = JSON_OBJECT };
	const struct json *t = json_get(in, "template"), *context = json_get(in, "context");
	static const char *const trusted[] = { "bos_token", "eos_token", "role", NULL };
	struct jinja_options o = {
		.flags = json_is(json_get(in, "mutable"), JSON_TRUE) ? JINJA_MUTABLE : 0,
		.now = whole(json_get(in, "now")),
		.steps = (uint64_t)whole(json_get(in, "steps")),
		.used = used,
		.trusted = trusted,
	};
	int rc = INFER_OK;

	if (t) {
		jinja_free(compiled);
		rc = jinja_compile(&compiled, json_str(t), json_bytes(t), "template", err);
	}
	if (!rc && !compiled)
		rc = INFER_EINVAL;
	if (!rc)
		rc = jinja_render(compiled, context ? context : &empty, &o, text, from, err);
	return rc;
}

int main(void)
{
	struct buf text, from, line;
	struct arena a;
	char *at = NULL;
	size_t cap = 0;

	buf_init(&text, MEM_TEXT);
	buf_init(&from, MEM_TEXT);
	buf_init(&line, MEM_TEXT);
	arena_init(&a, MEM_TEXT);
	for (ssize_t n; (n = getline(&at, &cap, stdin)) > 0;) {
		infer_error err = { .message = "no template" };
		struct jwrite w;
		uint64_t used = 0;
		const struct json *in = NULL;
		buf_clear(&text);
		buf_clear(&from);
		buf_clear(&line);
		jw_init(&w, &line);
		jw_object(&w, NULL);
		int rc = jread(&in, &a, at, (size_t)n, "line", &err);
		int64_t since = clock_thread_ns();
		if (!rc)
			rc = one(in, &text, &from, &used, &err);
		int64_t took = clock_thread_ns() - since;
		if (rc) {
			jw_str(&w, "error", err.message);
		} else {
			for (size_t i = 0; i < from.len; i++)
				from.at[i] = (char)(from.at[i] + '0');
			jw_strn(&w, "text", text.at ? text.at : "", text.len);
			jw_strn(&w, "from", from.at ? from.at : "", from.len);
		}
		jw_uint(&w, "used", used);
		jw_int(&w, "cpu_us", took / 1000);
		jw_end(&w);
		jw_line(&w);
		fwrite(line.at, 1, line.len, stdout);
		fflush(stdout);
		arena_reset(&a);
	}
	arena_fini(&a);
	jinja_free(compiled);
	buf_fini(&text);
	buf_fini(&from);
	buf_fini(&line);
	free(at);
	return 0;
}
