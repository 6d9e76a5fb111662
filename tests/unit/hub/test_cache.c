/* tests/unit/hub/test_cache.c - the cache on disk: what is found without a connection, listed and removed. */
#include "../nth.h"
#include "base/buf.h"
#include "hub/cache.h"
#include "hub/shelf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define REPO "cache/models--org--m/"

static char top[PATH_MAX];
static const struct infer_hub_opts opts = { .cache = "cache", .offline = 1 };

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void make_dir(const char *path) { assert_true(!mkdir(path, 0777) || errno == EEXIST); }

/* A: q4 and q8; B: q8, the same content, and c.json.  main is A, v2 is B. */
static void make_cache(void)
{
	static const char *const dirs[] = { "cache",
		                            "cache/models--org--m",
		                            REPO "blobs",
		                            REPO "refs",
		                            REPO "refs/pr",
		                            REPO "snapshots",
		                            REPO "snapshots/" A,
		                            REPO "snapshots/" A "/sub",
		                            REPO "snapshots/" B,
		                            REPO ".no_exist",
		                            REPO ".no_exist/" B };

	assert_int_equal(system("rm -rf cache"), 0);
	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
		make_dir(dirs[i]);
	put(REPO "blobs/4444", "four");
	put(REPO "blobs/8888", "eighteight");
	put(REPO "blobs/cccc", "{}");
	put(REPO "blobs/dddd.inferutils", "partial");
	put(REPO "refs/main", A);
	put(REPO "refs/pr/1", B "\n");
	put(REPO ".no_exist/" B "/x", "");
	assert_int_equal(symlink("../../blobs/4444", REPO "snapshots/" A "/m-Q4_K_M.gguf"), 0);
	assert_int_equal(symlink("../../../blobs/8888", REPO "snapshots/" A "/sub/m-Q8_0.gguf"), 0);
	assert_int_equal(symlink("../../blobs/8888", REPO "snapshots/" B "/m-Q8_0.gguf"), 0);
	assert_int_equal(symlink("../../blobs/cccc", REPO "snapshots/" B "/c.json"), 0);
	assert_int_equal(symlink("../../blobs/gone", REPO "snapshots/" B "/broken-Q2_K.gguf"), 0);
}

static int there(const char *path) { return !access(path, F_OK); }

static int case_get(void)
{
	char want[PATH_MAX + 200];
	char *path = NULL;
	infer_error err;
	int rc;

	make_cache();
	nth_ok(infer_hub_get(&path, "hf:org/m:q8_0", &opts, &err));
	snprintf(want, sizeof want, "%s/" REPO "snapshots/" A "/sub/m-Q8_0.gguf", top);
	assert_string_equal(path, want);
	infer_hub_free(path);
	path = NULL;
	nth_ok(infer_hub_get(&path, "hf:org/m@pr/1", &opts, &err));
	snprintf(want, sizeof want, "%s/" REPO "snapshots/" B "/m-Q8_0.gguf", top);
	assert_string_equal(path, want);
	infer_hub_free(path);
	path = NULL;
	nth_ok(infer_hub_get(&path, "hf:org/m@" B ":c.json", &opts, &err));
	infer_hub_free(path);
	path = NULL;
	/* its content is missing */
	nth_fails(infer_hub_get(&path, "hf:org/m@pr/1:Q2_K", &opts, &err), INFER_EIO);
	nth_fails(infer_hub_get(&path, "hf:org/m@none", &opts, &err), INFER_EIO);
	nth_fails(infer_hub_get(&path, "hf:org/n", &opts, &err), INFER_EIO);
	nth_fails(infer_hub_get(&path, "hf:org", &opts, &err), INFER_EINVAL);
	assert_null(path);
out:
	infer_hub_free(path);
	return rc;
}

struct seen {
	char text[400];
	size_t n;
};

static int see(void *user, const struct infer_hub_model *m, infer_error *err)
{
	struct seen *s = user;

	(void)err;
	s->n += (size_t)snprintf(s->text + s->n, sizeof s->text - s->n, "%s %c %s %zu %d %s;",
	                         m->repo, *m->commit, m->refs, m->n_files, (int)m->bytes,
	                         m->quants);
	return m->used_s > 0 ? INFER_OK : INFER_EFORMAT;
}

static int stop(void *user, const struct infer_hub_model *m, infer_error *err)
{
	(void)user;
	(void)m;
	(void)err;
	return INFER_EIO;
}

static int case_list(void)
{
	struct seen s = { .n = 0 };
	infer_error err;
	int rc;

	make_cache();
	make_dir("cache/models--x");
	make_dir("cache/datasets--org--m");
	put("cache/models--org--file", "");
	nth_ok(infer_hub_list(&opts, see, &s, &err));
	assert_string_equal(s.text, "org/m a main 2 14 Q4_K_M, Q8_0;org/m b pr/1 2 12 Q8_0;");
	nth_fails(infer_hub_list(&opts, stop, NULL, &err), INFER_EIO);
out:
	return rc;
}

static int case_remove(void)
{
	uint64_t freed;
	infer_error err;
	int rc;

	make_cache();
	nth_fails(infer_hub_remove(&freed, "org/m:Q5_K", &opts, &err), INFER_EIO);
	nth_fails(infer_hub_remove(&freed, "org/n", &opts, &err), INFER_EIO);
	nth_fails(infer_hub_remove(&freed, "../m", &opts, &err), INFER_EINVAL);
	/* one snapshot: its own content goes, its ref, and what is noted of it */
	nth_ok(infer_hub_remove(&freed, "org/m@pr/1", &opts, &err));
	assert_true(there(REPO "blobs/8888") && there(REPO "snapshots/" A "/sub/m-Q8_0.gguf"));
	assert_false(there(REPO "blobs/cccc") || there(REPO "refs/pr/1"));
	assert_true(there(REPO "refs/main"));
	assert_false(there(REPO ".no_exist/" B));
	/* one file */
	nth_ok(infer_hub_remove(&freed, "hf:org/m:q8_0", &opts, &err));
	assert_false(there(REPO "blobs/8888") || there(REPO "snapshots/" A "/sub"));
	assert_true(there(REPO "blobs/4444") && there(REPO "blobs/dddd.inferutils"));
	/* the last file, and with it the repository */
	nth_ok(infer_hub_remove(&freed, "hf:org/m:Q4_K_M", &opts, &err));
	assert_false(there("cache/models--org--m"));
	assert_true(there("cache"));
out:
	return rc;
}

/* Nothing outside the cache is read, written or removed, wherever its links lead. */
static void test_links(void **state)
{
	char *path;
	uint64_t freed, bytes;
	struct hub_cache c;
	infer_error err;
	int has;

	(void)state;
	mem_fail_at(0);
	make_cache();
	make_dir("outside");
	put("outside/m-Q6_K.gguf", "precious");
	assert_int_equal(
		symlink("../../../../outside/m-Q6_K.gguf", REPO "snapshots/" A "/m-Q6_K.gguf"), 0);
	assert_int_equal(symlink("../../../../outside", REPO "snapshots/" A "/out"), 0);
	assert_int_equal(infer_hub_get(&path, "hf:org/m:Q6_K", &opts, &err), INFER_EFORMAT);
	assert_non_null(strstr(err.message, "is a link out of the cache"));
	assert_int_equal(hub_cache_open(&c, &opts, "models--org--m", 0, &err), 0);
	assert_int_equal(hub_snapshot_has(&has, &bytes, &c, A, "out/m-Q6_K.gguf", &err), INFER_EIO);
	assert_int_equal(hub_snapshot_link(&c, A, "out/new", "4444", &err), INFER_EIO);
	/* a file in the way is a link already: it is replaced */
	assert_int_equal(hub_snapshot_link(&c, B, "broken-Q2_K.gguf", "4444", &err), 0);
	assert_int_equal(hub_snapshot_has(&has, &bytes, &c, B, "broken-Q2_K.gguf", &err), 0);
	assert_true(has && bytes == 4);
	hub_cache_close(&c);
	assert_int_equal(infer_hub_remove(&freed, "org/m", &opts, &err), 0);
	assert_true(there("outside/m-Q6_K.gguf"));
	assert_false(there("outside/new") || there("cache/models--org--m"));
	/* the repository itself */
	assert_int_equal(symlink("../outside", "cache/models--org--m"), 0);
	assert_int_equal(infer_hub_remove(&freed, "org/m", &opts, &err), INFER_EIO);
	assert_int_equal(infer_hub_get(&path, "hf:org/m", &opts, &err), INFER_EIO);
	assert_true(there("outside/m-Q6_K.gguf"));
}

static int canceled = 1;
static void count(void *user, const char *sentence)
{
	(void)sentence;
	++*(int *)user;
}

static void test_locks(void **state)
{
	int lock, other, said = 0;
	struct infer_hub_opts o = opts;
	struct hub_cache c;
	infer_error err;
	uint64_t freed;

	(void)state;
	mem_fail_at(0);
	make_cache();
	o.say = count;
	o.user = &said;
	o.cancel = &canceled;
	assert_int_equal(hub_cache_open(&c, &o, "models--org--m", 0, &err), 0);
	assert_int_equal(hub_lock(&lock, &c, "4444", 1, "f", &o, &err), 0);
	assert_true(lock >= 0);
	/* the name of huggingface_hub */
	assert_true(there("cache/.locks/models--org--m/4444.lock"));
	assert_int_equal(hub_lock(&other, &c, "4444", 0, "f", &o, &err), 0);
	assert_int_equal(other, -1);
	assert_int_equal(hub_lock(&other, &c, "4444", 1, "f", &o, &err), INFER_ECANCEL);
	assert_int_equal(infer_hub_remove(&freed, "org/m", &o, &err), INFER_EIO);
	assert_int_equal(infer_hub_remove(&freed, "org/m:Q8_0", &o, &err), INFER_EIO);
	assert_true(there(REPO "snapshots/" A "/sub/m-Q8_0.gguf"));
	/* whoever holds it may remove the file; another lock file is another lock */
	assert_int_equal(unlink("cache/.locks/models--org--m/4444.lock"), 0);
	close(lock);
	assert_int_equal(hub_lock(&lock, &c, "4444", 1, "f", &o, &err), 0);
	close(lock);
	assert_int_equal(infer_hub_remove(&freed, "org/m", &o, &err), 0);
	hub_cache_close(&c);
}

static void test_refs(void **state)
{
	char commit[HUB_COMMIT];
	struct hub_cache c;
	infer_error err;

	(void)state;
	mem_fail_at(0);
	make_cache();
	assert_int_equal(hub_cache_open(&c, &opts, "models--org--m", 0, &err), 0);
	assert_int_equal(hub_ref_read(commit, &c, "pr/1", &err), 0);
	assert_string_equal(commit, B);
	assert_int_equal(hub_ref_read(commit, &c, "pr", &err), 0);
	assert_string_equal(commit, "");
	assert_int_equal(hub_ref_write(&c, "x/y", A, &err), 0);
	assert_int_equal(hub_ref_read(commit, &c, "x/y", &err), 0);
	assert_string_equal(commit, A);
	put(REPO "refs/bad", "../../x");
	assert_int_equal(hub_ref_read(commit, &c, "bad", &err), INFER_EFORMAT);
	assert_int_equal(hub_ref_write(&c, "bad", B, &err), 0);
	assert_int_equal(hub_ref_read(commit, &c, "bad", &err), 0);
	hub_no_exist_write(&c, A, "sub/x.json");
	assert_true(there(REPO ".no_exist/" A "/sub/x.json"));
	hub_no_exist_write(&c, A, "../../x");
	hub_no_exist_write(&c, "cccccccccccccccccccccccccccccccccccccccc", "x");
	assert_false(there(REPO ".no_exist/cccccccccccccccccccccccccccccccccccccccc"));
	hub_cache_close(&c);
	assert_int_equal(infer_hub_list(&(struct infer_hub_opts){ .offline = 1 }, stop, NULL, &err),
	                 INFER_EIO); /* no cache is named */
	assert_int_equal(
		infer_hub_list(&(struct infer_hub_opts){ .cache = "none" }, stop, NULL, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_get),           nth_case(case_list),
		nth_case(case_remove),        cmocka_unit_test(test_links),
		cmocka_unit_test(test_locks), cmocka_unit_test(test_refs),
	};
	char dir[] = "/tmp/hub-cache.XXXXXX", clean[64];

	if (!mkdtemp(dir) || chdir(dir) || !realpath(".", top))
		return 1;
	int rc = nth_group(tests);

	snprintf(clean, sizeof clean, "rm -rf %s", dir);
	return chdir("/") || system(clean) ? 1 : rc;
}
