/* tests/unit/hf/damage.h - damage of the small directory, and the messages about it. */
#ifndef TESTS_HF_DAMAGE_H
#define TESTS_HF_DAMAGE_H
#include "small.h"

#include <errno.h>

#include <infer/file.h>
#include "base/os.h"

static char dir[] = "/tmp/infer-test-dir-XXXXXX";
static int refused; /* directories so far */

__attribute__((unused)) static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

__attribute__((unused)) static int drop_dir(void **state)
{
	(void)state;
	small_clear(dir, 0);
	return rmdir(dir);
}

/* Fail unless `dir` is refused in one line that names `file` and contains `says` (NULL: anything). */
__attribute__((unused)) static void check_refused(const char *what, const char *file, int code,
                                                  const char *says)
{
	uint64_t live = mem_live();
	infer_error err = { 0 };
	infer_file *f = (infer_file *)1;
	int rc = infer_file_open(&f, dir, &err);

	if (!rc)
		fail_msg("%s: %s: opened", file, what);
	assert_null(f);
	refused++;
	if (code ? rc != code : rc != INFER_EIO && rc != INFER_EFORMAT && rc != INFER_EUNSUP)
		fail_msg("%s: %s: %s: %s", file, what, infer_status_name(rc), err.message);
	if (strncmp(err.message, dir, sizeof dir - 1) || strchr(err.message, '\n') ||
	    !strstr(err.message, file) || (says && !strstr(err.message, says)))
		fail_msg("%s: %s: says %s, not %s", file, what, err.message,
		         says ? says : "the file");
	if (mem_live() != live)
		fail_msg("%s: %s: %lld blocks left", file, what, (long long)(mem_live() - live));
}

enum how { SET, SWAP, REMOVE, CUT, APPEND, FOLDER, FIFO, LINK };

struct damage {
	const char *file;
	enum how how;
	const char *a, *b; /* SET: the content a; SWAP: b for the first a; CUT: a: bytes left */
	int code;          /* 0: EIO, EFORMAT or EUNSUP */
	const char *says;
};

/* Replace the first a in a file by b; in a safetensors file, the length of the header too. */
__attribute__((unused)) static void swap(struct small *s, const char *name, const char *a,
                                         const char *b)
{
	struct small_file *f = small_file(s, name);
	size_t na = strlen(a), nb = strlen(b);
	char *at = memmem(f->at, f->n, a, na), *to;
	int64_t h;

	if (!at)
		fail_msg("%s has no %s", name, a);
	to = malloc(f->n + nb);
	assert_non_null(to);
	memcpy(to, f->at, (size_t)(at - f->at));
	memcpy(to + (at - f->at), b, nb);
	memcpy(to + (at - f->at) + nb, at + na, f->n - na - (size_t)(at - f->at));
	if (strstr(name, ".safetensors") && !strstr(name, ".json")) {
		memcpy(&h, to, 8);
		h += (int64_t)nb - (int64_t)na;
		memcpy(to, &h, 8);
	}
	small_set(s, name, to, f->n + nb - na);
	free(to);
}

__attribute__((unused)) static void damage(struct small *s, const struct damage *d)
{
	struct small_file *f = small_file(s, d->file);

	switch (d->how) {
	case SET:
		small_set(s, d->file, d->a, strlen(d->a));
		break;
	case SWAP:
		swap(s, d->file, d->a, d->b);
		break;
	case CUT:
		f->n = (size_t)strtoul(d->a, NULL, 10);
		break;
	case APPEND:

		f->at = realloc(f->at, f->n + strlen(d->a) + 1);
		assert_non_null(f->at);
		memcpy(f->at + f->n, d->a, strlen(d->a) + 1);
		f->n += strlen(d->a);
		break;
	default:
		free(f->at);
		f->at = NULL;
	}
}

/* Create a folder, FIFO or link in the place of a file, after the other files are written. */
__attribute__((unused)) static void make_special(const struct damage *d)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", dir, d->file);
	if (d->how == FOLDER)
		assert_int_equal(mkdir(path, 0777), 0);
	if (d->how == FIFO)
		assert_int_equal(mkfifo(path, 0666), 0);
	if (d->how == LINK)
		assert_int_equal(symlink(d->a, path), 0);
}

__attribute__((unused)) static void check_damage(const struct damage *d, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct small s;

		small_new(&s);
		damage(&s, &d[i]);
		assert_int_equal(small_write(&s, dir), 0);
		small_free(&s);
		make_special(&d[i]);
		check_refused(d[i].b   ? d[i].b
		              : d[i].a ? d[i].a
		                       : "",
		              d[i].says ? "" : d[i].file, d[i].code, d[i].says);
	}
}

#endif
