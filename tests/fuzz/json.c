/* tests/fuzz/json.c - any bytes to the JSON reader: refused, or read as a value, which is read
 * back the same when it or a copy is written.  Input: the text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/jread.h"
#include "base/jwrite.h"

static void write(struct buf *b, const struct json *v)
{
	struct jwrite w;

	buf_clear(b);
	jw_init(&w, b);
	jw_value(&w, NULL, v);
	must(!b->bad);
}

/* Side by side through both; the ways back are kept. */
static void compare(const struct json *x, const struct json *y)
{
	const struct json *around[2 * JREAD_DEPTH];
	int depth = 0;

	for (;;) {
		must(x->kind == y->kind && x->n == y->n && !x->key == !y->key &&
		     x->key_n == y->key_n);
		must(!x->key || !memcmp(x->key, y->key, x->key_n));
		must(x->kind < JSON_INT || x->kind > JSON_REAL || x->u == y->u);
		must(x->kind != JSON_STRING || !memcmp(x->s, y->s, x->n));
		must(!json_first(x) == !json_first(y));
		if (json_first(x)) {
			around[depth++] = x;
			around[depth++] = y;
			x = x->first;
			y = y->first;
			continue;
		}
		for (; depth && !x->next; depth -= 2) {
			must(!y->next);
			x = around[depth - 2];
			y = around[depth - 1];
		}
		if (!depth)
			return;
		x = x->next;
		y = y->next;
		must(y);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *tight = malloc(size + !size);
	const struct json *v, *again;
	struct arena a;
	struct buf text, copied;
	infer_error err = { 0 };

	must(tight);
	if (size)
		memcpy(tight, data, size);
	arena_init(&a, MEM_BASE);
	buf_init(&text, MEM_BASE);
	buf_init(&copied, MEM_BASE);
	int rc = jread(&v, &a, tight, size, "it", &err);

	must(rc == INFER_OK ||
	     (rc == INFER_EFORMAT && !v && !strncmp(err.message, "it: line ", 9)));
	if (!rc) {
		write(&text, v);
		must(!jread(&again, &a, text.at, text.len, "again", NULL));
		compare(v, again);
		write(&copied, json_copy(&a, again));
		must(text.len == copied.len && !memcmp(text.at, copied.at, text.len));
	}
	buf_fini(&copied);
	buf_fini(&text);
	arena_fini(&a);
	free(tight);
	return 0;
}
