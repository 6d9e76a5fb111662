/* tests/fuzz/parts.c - any JSON as a constraint of parts: refused in one line, or a grammar in which
 * random texts meet no dead end.
 * Input: a part is a string, for that text, or an object with one of
 *   control text; schema, object a schema; spelled a schema; regex pattern; until text; without texts;
 *   sequence, either, tags parts; optional, many a part
 * where a tag of tags is an object with begin and then. */
#include <stdint.h>
#include <stdlib.h>
#include "walk.h"
#include "base/jread.h"
#include "grammar/parts.h"

enum { STEPS = 3000000, BYTES = 64 << 20, MOST = 16, MOST_DEPTH = 40 };

static const struct part_spelling spelling = {
	.object = { "<args>", "</args>" },
	.comma = "",
	.name = { "<", ">" },
	.raw = { "", "</>" },
	.json = { "", "</>" },
	.end = "</>",
	.word = { "None", "False", "True" },
	.quote = "'",
	.list = { "[", "]" },
};

static struct arena texts; /* of the values, and copies that end in NUL */

static uint32_t part(struct parts *p, const struct json *v, int depth);

/* a text without NUL, not empty; NULL: there is none */
static const char *text_of_member(const struct json *v, const char *name)
{
	const struct json *t = json_get(v, name);

	return json_is_string(t) && t->n ? json_cstr(&texts, t) : NULL;
}

static uint32_t list(struct parts *p, const struct json *v, int either, int depth)
{
	uint32_t of[MOST], n = 0;

	json_each(e, v)
		if (n < MOST)
			of[n++] = part(p, e, depth);
	return either ? parts_one_of(p, of, n) : parts_all_of(p, of, n);
}

static uint32_t tags(struct parts *p, const struct json *v, int depth)
{
	struct part_tag tag[MOST];
	uint32_t n = 0;

	json_each(e, v) {
		const char *begin = text_of_member(e, "begin");

		if (n == MOST || !begin)
			continue;
		tag[n++] = (struct part_tag){ .begin = begin,
			                      .then = part(p, json_get(e, "then"), depth) };
	}
	return n ? parts_tags(p, tag, n, PART_NONE, 0) : parts_string(p, "");
}

static uint32_t without(struct parts *p, const struct json *v)
{
	struct dfa_word never[MOST];
	uint32_t n = 0;

	json_each(e, v)
		if (n < MOST && json_is_string(e) && e->n)
			never[n++] = (struct dfa_word){ e->s, e->n };
	return parts_without(p, never, n);
}

static uint32_t part(struct parts *p, const struct json *v, int depth)
{
	static const struct schema_opts opts = { .canonical = 1 };
	const struct json *x;
	const char *s;

	if (!v || depth > MOST_DEPTH)
		return parts_string(p, "");
	if (json_is_string(v))
		return parts_text(p, json_str(v), v->n);
	if ((s = text_of_member(v, "control")))
		return parts_control(p, s, strlen(s));
	if ((s = text_of_member(v, "regex")))
		return parts_regex(p, s);
	if ((s = text_of_member(v, "until")))
		return parts_until(p, s);
	if ((x = json_get(v, "schema")))
		return parts_schema(p, x, &opts);
	if ((x = json_get(v, "object")))
		return parts_object(p, x, &opts);
	if ((x = json_get(v, "spelled")))
		return parts_spelled(p, x, &opts, &spelling, "spelled");
	if ((x = json_get(v, "without")))
		return without(p, x);
	if ((x = json_get(v, "sequence")))
		return list(p, x, 0, depth + 1);
	if ((x = json_get(v, "either")) && json_count(x))
		return list(p, x, 1, depth + 1);
	if ((x = json_get(v, "tags")))
		return tags(p, x, depth + 1);
	if ((x = json_get(v, "optional")))
		return parts_repeat(p, part(p, x, depth + 1), 0, 1);
	if ((x = json_get(v, "many")))
		return parts_repeat(p, part(p, x, depth + 1), 0, DFA_FOREVER);
	return parts_string(p, "");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct dfa_word controls[] = { { "<call>", 6 }, { "</call>", 7 } };
	struct budget left = { STEPS, BYTES };
	char *tight = malloc(size + !size);
	infer_error err = { 0 };
	struct grammar *g = NULL;
	const struct json *v;
	struct parts *p;

	if (!tight)
		abort();
	memcpy(tight, data, size);
	arena_init(&texts, MEM_GRAMMAR);
	if (!jread(&v, &texts, tight, size, "parts", NULL)) {
		int rc = parts_new(&p, controls, 2, &left, &err);

		if (!rc)
			rc = parts_build(&g, p, part(p, v, 0));
		walk_all(g, rc, &err, &left, BYTES);
	}
	arena_fini(&texts);
	free(tight);
	return 0;
}
