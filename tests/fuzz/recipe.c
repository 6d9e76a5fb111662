/* tests/fuzz/recipe.c - any bytes as a recipe: refused in one line with its place, or a recipe whose
 * canonical text is read as the same one.
 * Input: the recipe. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "quant/recipe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *tight = malloc(size + !size);
	infer_recipe *r = NULL, *again = NULL;
	infer_error err = { 0 };
	struct buf a, b;

	if (!tight)
		abort();
	memcpy(tight, data, size);
	buf_init(&a, MEM_QUANT);
	buf_init(&b, MEM_QUANT);
	if (infer_recipe_read(&r, tight, size, "recipe", &err)) {
		must(err.code == INFER_EFORMAT || err.code == INFER_EUNSUP);
		must(!r && !strchr(err.message, '\n') && !strncmp(err.message, "recipe: ", 8));
	} else {
		must(!recipe_text(&a, r, &err) && !a.bad);
		must(!infer_recipe_read(&again, a.at, a.len, "recipe", &err));
		must(!recipe_text(&b, again, &err) && !b.bad);
		must(a.len == b.len && !memcmp(a.at, b.at, a.len));
	}
	infer_recipe_free(r);
	infer_recipe_free(again);
	buf_fini(&a);
	buf_fini(&b);
	free(tight);
	return 0;
}
