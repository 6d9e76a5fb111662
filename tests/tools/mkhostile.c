/* tests/tools/mkhostile.c - write damaged copies of good GGUF files, for programs to be run on.
 *
 *	mkhostile DIR GOOD.gguf [GOOD2.gguf]          a llama of mkmodel with one layer, 32 wide,
 *300 tokens
 *
 * DIR/list names them, a line each: FILE SHOW TOKENIZE RUN, where the last three say what becomes
 * of opening the file, its tokenizer and its model: 0 well, 3 refused, 1 for a shard that is
 * missing, - one of 0 and 3.  Files not in the list belong to others in it. */
#include <sys/stat.h>
#include "base/os.h"
#include "hostile_model.h"

struct out {
	const char *dir;
	FILE *list;
	int n;
};

static void write_file(const char *dir, const char *name, const void *bytes, size_t n)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *f = fopen(path, "wb");
	if (!f || fwrite(bytes, 1, n, f) != n || fclose(f)) {
		perror(path);
		exit(1);
	}
}

static void one(void *user, const char *name, const void *bytes, size_t n, const char want[3])
{
	struct out *o = user;
	char file[160];

	/* a merge's text or a special token may hold what no file name should */
	snprintf(file, sizeof file, "%03d-%s.gguf", o->n++, name);
	for (char *c = file; *c; c++)
		if (strchr("/ !<>|*", *c))
			*c = '_';
	write_file(o->dir, file, bytes, n);
	fprintf(o->list, "%s %c %c %c\n", file, want[0], want[1], want[2]);
}

static void exact(void *user, const char *name, const void *bytes, size_t n, const char want[3])
{
	(void)want;
	write_file(user, name, bytes, n);
}

/* The whole of a model as shard no of count, of a model that has so many tensors; for the list only
 * where want says. */
static void shard(struct out *o, struct hostile *h, const char *set, uint16_t no, uint16_t count,
                  uint32_t total, int file_no, const char *want)
{
	unsigned char kv[256];
	char name[96];
	size_t n = hostile_make(kv, "split.no", 8, INFER_META_U16, &no, 2);

	n += hostile_make(kv + n, "split.count", 11, INFER_META_U16, &count, 2);
	n += hostile_make(kv + n, "split.tensors.count", 19, INFER_META_U32, &total, 4);
	snprintf(name, sizeof name, "%s-%05d-of-00002.gguf", set, file_no);
	hostile_splice(h, h->table, 0, kv, n, 3, 0, "", name);
	if (want)
		fprintf(o->list, "%s %c %c %c\n", name, want[0], want[1], want[2]);
}

/* Two files that are each well, but no model together. */
static void shards(struct out *o, const struct os_file *m)
{
	struct hostile h;

	if (hostile_begin(&h, m->at, m->bytes, "", exact, (void *)o->dir))
		exit(1);
	uint32_t n = (uint32_t)h.n_tensors;
	shard(o, &h, "another-model", 0, 2, n, 1, "333"),
		shard(o, &h, "another-model", 1, 2, n + 1, 2, "333");
	shard(o, &h, "same-names", 0, 2, 2 * n, 1, "333"),
		shard(o, &h, "same-names", 1, 2, 2 * n, 2, NULL);
	shard(o, &h, "two-firsts", 0, 2, 2 * n, 1, "333"),
		shard(o, &h, "two-firsts", 0, 2, 2 * n, 2, "333");
	shard(o, &h, "of-three", 0, 2, 2 * n, 1, "333"),
		shard(o, &h, "of-three", 1, 3, 2 * n, 2, NULL);
	shard(o, &h, "past-the-last", 2, 2, 2 * n, 1, "333");
	shard(o, &h, "missing", 0, 2, 2 * n, 1, "111");
	hostile_end(&h);
}

int main(int argc, char **argv)
{
	struct out o = { .dir = argc > 1 ? argv[1] : "" };
	char path[4096];

	if (argc < 3) {
		fprintf(stderr, "usage: mkhostile DIR GOOD.gguf [GOOD2.gguf]\n");
		return 2;
	}
	mkdir(o.dir, 0777);
	snprintf(path, sizeof path, "%s/list", o.dir);
	o.list = fopen(path, "w");
	if (!o.list) {
		perror(path);
		return 1;
	}
	for (int i = 2; i < argc; i++) {
		struct os_file m;
		infer_error err;
		if (os_file_map(&m, argv[i], &err)) {
			fprintf(stderr, "mkhostile: %s\n", err.message);
			return 1;
		}
		if (hostile_all(m.at, m.bytes, (const char[]){ (char)('a' + i - 2), '-', 0 }, one,
		                &o)) {
			fprintf(stderr, "mkhostile: %s: no file to begin with\n", argv[i]);
			return 1;
		}
		if (i == 2)
			shards(&o, &m);
		os_file_unmap(&m);
	}
	return fclose(o.list) ? 1 : 0;
}
