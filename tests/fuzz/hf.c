/* tests/fuzz/hf.c - any bytes as a directory of a Hugging Face checkpoint: refused with one line, or
 * opened as a model whose tensors and keys are all there.
 *
 * Input: files, each begun by the byte 1e: a line with its name and a number, then its text.  A file of
 * the name *.safetensors has its text as the header, the length before it, and that many zero bytes
 * after it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <infer/file.h>
#include <infer/model.h>
#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILES = 24, NAME = 64, ZEROS_MOST = 1 << 20 };

static char dir[] = "/tmp/infer-fuzz-hf-XXXXXX";
static char names[FILES][NAME];
static int n_names, is_made;
static volatile unsigned char sink;

static void path_of(char out[128], const char *name) { snprintf(out, 128, "%s/%s", dir, name); }

static void clear(void)
{
	char path[128];

	while (n_names) {
		path_of(path, names[--n_names]);
		unlink(path);
	}
}

static void drop(void)
{
	clear();
	rmdir(dir);
}

static int is_plain(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(s[i] >= 'a' && s[i] <= 'z') && !(s[i] >= '0' && s[i] <= '9') &&
		    !strchr("._-", s[i] ? s[i] : '/'))
			return 0;
	return n && n < NAME && *s != '.';
}

static void write_file(const char *name, const char *at, size_t n, size_t zeros)
{
	static const char none[4096];
	size_t end = strlen(name);
	char path[128];

	path_of(path, name);
	FILE *f = fopen(path, "wb");
	must(f);
	if (end > 12 && !strcmp(name + end - 12, ".safetensors")) {
		uint64_t length = n;
		must(fwrite(&length, 8, 1, f) == 1);
		must(fwrite(at, 1, n, f) == n);
		for (size_t k; zeros; zeros -= k) {
			k = zeros < sizeof none ? zeros : sizeof none;
			must(fwrite(none, 1, k, f) == k);
		}
	} else {
		must(fwrite(at, 1, n, f) == n);
	}
	must(!fclose(f));
}

/* One file of the input: "NAME ZEROS\nTEXT". */
static void put_file(const char *at, size_t n)
{
	const char *line = memchr(at, '\n', n),
		   *space = line ? memchr(at, ' ', (size_t)(line - at)) : NULL;
	size_t zeros = 0;

	if (!space || n_names == FILES || !is_plain(at, (size_t)(space - at)))
		return;
	memcpy(names[n_names], at, (size_t)(space - at));
	names[n_names][space - at] = 0;
	for (const char *p = space + 1; p < line && *p >= '0' && *p <= '9'; p++)
		zeros = (zeros * 10 + (size_t)(*p - '0')) % (ZEROS_MOST + 1);
	write_file(names[n_names++], line + 1, n - (size_t)(line + 1 - at), zeros);
}

static void touch(const infer_file *f)
{
	const struct infer_tensor *t;
	const struct infer_meta *m;
	char hex[65];

	for (uint64_t i = 0; (t = infer_file_tensor_at(f, i)); i++) {
		unsigned char x = 0;
		for (uint64_t k = 0; k < t->bytes; k++)
			x ^= ((const unsigned char *)t->data)[k];
		sink = x;
		must(infer_file_tensor(f, "") == NULL);
	}
	for (uint64_t i = 0; (m = infer_file_meta_at(f, i)); i++)
		for (uint64_t k = 0; k < m->count; k += 1 + m->count / 8) {
			struct infer_str s;
			if (m->elem_type == INFER_META_STR)
				must(!infer_meta_str_at(f, m, k, &s, NULL));
		}
	infer_file_id(f, hex);
}

static void check_error(int rc, const infer_error *err)
{
	must(rc == INFER_EIO || rc == INFER_EFORMAT || rc == INFER_EUNSUP || rc == INFER_ENOMEM);
	must(rc == err->code && *err->message && !strchr(err->message, '\n'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data, *end = at + size;
	infer_error err = { 0 };
	infer_file *f;
	infer_model *m;
	int rc;

	if (!is_made) {
		must(mkdtemp(dir));
		atexit(drop);
		is_made = 1;
	}
	while (at && at < end && (at = memchr(at, 0x1e, (size_t)(end - at)))) {
		const char *next;

		at++;
		next = memchr(at, 0x1e, (size_t)(end - at));
		put_file(at, (size_t)((next ? next : end) - at));
	}
	rc = infer_file_open(&f, dir, &err);
	if (rc)
		check_error(rc, &err);
	else
		touch(f);
	infer_file_close(&f);
	if (!rc) {
		rc = infer_model_open(&m, dir, NULL, &err);
		if (rc)
			check_error(rc, &err);
		infer_model_close(&m);
	}
	clear();
	return 0;
}
