/* file/unmap.c - unmap a large file on several cores. */
#include "file/file.h"
#include "base/pool.h"

#include <sys/mman.h>

enum { PART = 16 << 20, MANY = 128 << 20 };

struct parts {
	const unsigned char *at;
	size_t bytes;
};

static void drop_part(void *user, int64_t i, int worker)
{
	const struct parts *p = user;
	size_t from = (size_t)i * PART, left = p->bytes - from;

	(void)worker;
	madvise((void *)(p->at + from), left < PART ? left : PART, MADV_DONTNEED);
}

/* Unmapping takes about 40 ns for each page in memory, so all cores unmap a file of many pages. */
static void drop_pages(const struct os_file *f)
{
	struct parts parts = { f->at, f->bytes };
	struct os_usage u;
	struct os_limits l;
	struct pool *p;

	os_usage(&u);
	if (f->bytes < MANY || u.peak_rss_bytes < MANY)
		return;
	os_limits(&l);
	if (l.threads < 2 || pool_new(&p, l.threads < 8 ? l.threads : 8, NULL))
		return;
	pool_run(p, (int64_t)((f->bytes + PART - 1) / PART), drop_part, &parts);
	pool_free(p);
}

void file_unmap(struct os_file *f)
{
	if (f->at)
		drop_pages(f);
	os_file_unmap(f);
}
