/* tests/embed/names.c - an application with functions of the same names as internal ones of the
 * library: both keep their own. */
#include <stdio.h>
#include <string.h>
#include <infer/engine.h>

static int called;
void buf_init(void);
void tok_free(void);
int map_open(void);
void *pool_new(void);
int mem_alloc(void);
void buf_init(void) { called++; }
void tok_free(void) { called++; }
int map_open(void) { return ++called; }
void *pool_new(void)
{
	called++;
	return NULL;
}
int mem_alloc(void) { return ++called; }

int main(void)
{
	infer_file *file = NULL;
	infer_tokenizer *t = NULL;
	infer_error err;
	int32_t *ids = NULL;
	size_t n = 0;
	int rc = infer_file_open(&file, "demo", &err);

	rc = rc ? rc : infer_tokenizer_open(&t, file, &err);
	rc = rc ? rc : infer_encode(t, "a lighthouse", 12, 0, &ids, &n, &err);
	if (rc)
		fprintf(stderr, "%s\n", err.message);
	rc = rc || !n || called;
	buf_init();
	tok_free();
	map_open();
	pool_new();
	mem_alloc();
	printf("1..1\n%sok 1 - own names stay own\n", rc || called != 5 ? "not " : "");
	infer_ids_free(ids);
	infer_tokenizer_close(&t);
	infer_file_close(&file);
	return rc || called != 5;
}
