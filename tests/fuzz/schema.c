/* tests/fuzz/schema.c - any JSON as a JSON Schema: refused in one line, or a grammar in which random
 * texts meet no dead end; strict, with formats and unknown names as remarks, and with closed objects.
 * Input: the schema. */
#include <stdint.h>
#include <stdlib.h>
#include "walk.h"
#include "grammar/grammar.h"
#include "base/jread.h"

enum { STEPS = 3000000, BYTES = 64 << 20 };

static void compile(const struct json *schema, const struct schema_opts *o)
{
	struct budget left = { STEPS, BYTES };
	infer_error err = { 0 };
	struct grammar *g = NULL;
	int rc = schema_compile(&g, schema, o, &left, &err);

	walk_all(g, rc, &err, &left, BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct schema_opts strict = { .draft = SCHEMA_2020 },
					lax = { .draft = SCHEMA_7, .annotate = 1, .lax = 1 },
					closed = { .canonical = 1, .closed = 1 };
	char *tight = malloc(size + !size);
	const struct json *schema;
	struct arena a;

	if (!tight)
		abort();
	memcpy(tight, data, size);
	arena_init(&a, MEM_GRAMMAR);
	if (!jread(&schema, &a, tight, size, "schema", NULL)) {
		compile(schema, &strict);
		compile(schema, &lax);
		compile(schema, &closed);
	}
	arena_fini(&a);
	free(tight);
	return 0;
}
