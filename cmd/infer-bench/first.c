/* infer-bench/first.c - --first-token: the time from opening a model to its first token. */
#include "first.h"
#include "still.h"
#include "common/say.h"
#include <infer/statistic.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/jwrite.h"
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 4 << 20, DISK_MOST = 256 << 20, CTX = 64 };

/* Measure one turn: open the model and an engine for one sequence, run a prompt of one token, close. */
static int first_token(double *ms, const struct bench_opts *o, const char *path, infer_error *err)
{
	struct infer_model_opts mo = { .ctx = (int32_t)o->engine.ctx };
	struct infer_engine_opts eo;
	const int32_t prompt[] = { 1 };
	const struct infer_request r = { .prompt = prompt,
		                         .n_prompt = 1,
		                         .max_tokens = 1,
		                         .flags = INFER_REQ_IGNORE_EOS | INFER_REQ_NO_TEXT };
	struct infer_event ev;
	infer_engine *e = NULL;
	infer_model *m;
	int64_t from = clock_now_ns();
	int rc;

	TRY(infer_model_open(&m, path, &mo, err));
	rc = engine_args_take(&eo, &o->engine, err);
	eo.max_seqs = 1;
	if (!eo.ctx)
		eo.ctx = CTX;
	if (!rc)
		rc = infer_engine_open(&e, m, &eo, err);
	if (!rc)
		rc = infer_engine_submit(e, &r, NULL, err);
	for (int got = 0; !rc && !got && infer_engine_busy(e);) {
		rc = infer_engine_step(e, err);
		while (!rc && infer_engine_next(e, &ev))
			got |= ev.kind == INFER_EVENT_TOKEN;
	}
	*ms = (double)(clock_now_ns() - from) * 1e-6;
	infer_engine_close(&e);
	infer_model_close(&m);
	return rc;
}

/* Return how many bytes of the file are in the page cache; SIZE_MAX: unknown. */
static size_t resident(int fd, size_t bytes)
{
	size_t page = os_page(), pages = (bytes + page - 1) / page, n = 0;
	unsigned char *in = malloc(pages);
	void *at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	int rc = in && at != MAP_FAILED ? mincore(at, bytes, in) : -1;

	for (size_t i = 0; !rc && i < pages; i++)
		n += in[i] & 1;
	if (at != MAP_FAILED)
		munmap(at, bytes);
	free(in);
	return rc ? SIZE_MAX : n * page;
}

/* Evict the file from the page cache. */
static int evict(const char *path, infer_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	size_t left;

	if (fd < 0 || fstat(fd, &st)) {
		int rc = err_errno(err, errno, "%s", path);

		if (fd >= 0)
			close(fd);
		return rc;
	}
	(void)fsync(fd); /* dirty pages cannot be evicted */
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	left = st.st_size ? resident(fd, (size_t)st.st_size) : 0;
	close(fd);
	if (left != SIZE_MAX && left > (size_t)st.st_size / 100)
		return err_set(err, INFER_EIO,
		               "%s: %.0f of %.0f MB stay in memory: another program uses "
		               "the file, or it is not on a disk",
		               path, (double)left * 1e-6, (double)st.st_size * 1e-6);
	return INFER_OK;
}

/* Return the rate of reading the file without the page cache, GB/s; 0 if that is not possible. */
static double disk_rate(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);
	void *piece = NULL;
	size_t done = 0;
	ssize_t n = PIECE;
	int64_t from = clock_now_ns();

	if (fd < 0 || posix_memalign(&piece, 4096, PIECE)) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while (done < DISK_MOST && n == PIECE) {
		n = read(fd, piece, PIECE);
		done += n > 0 ? (size_t)n : 0;
	}
	double rate = n < 0 ? 0 : (double)done / (double)(clock_now_ns() - from);

	free(piece);
	close(fd);
	return rate;
}

static int check_cold(struct first *f, const char *path, infer_error *err)
{
	struct infer_file_info info;
	infer_file *file;

	f->file_bytes = 0;
	if (!strcmp(path, "demo"))
		return !f->cold ? INFER_OK
		                : err_set(err, INFER_EUNSUP,
		                          "demo is not a file: it has no cold start");
	TRY(infer_file_open(&file, path, err));
	infer_file_info(file, &info);
	f->file_bytes = (double)(info.packed_bytes ? info.packed_bytes : info.file_bytes);
	infer_file_close(&file);
	return !f->cold || info.n_shards == 1
	               ? INFER_OK
	               : err_set(err, INFER_EUNSUP,
	                         "%s: one of %d files; a cold start needs a model in one "
	                         "file",
	                         path, info.n_shards);
}

int first_measure(struct first *f, const struct bench_opts *o, const char *path,
                  double weight_bytes, infer_error *err)
{
	double ms;

	TRY(check_cold(f, path, err));
	for (int64_t i = f->cold ? 0 : -1; i < o->repeat; i++) {
		if (f->cold)
			TRY(evict(path, err));
		TRY(first_token(&ms, o, path, err));
		if (i >= 0)
			f->ms[i] = ms;
	}
	f->created_ms = still_unix_ms();
	if (f->cold) {
		TRY(evict(path, err));
		f->disk_gb_s = disk_rate(path);
		f->limit_ms = f->disk_gb_s > 0 ? weight_bytes * 1e-6 / f->disk_gb_s : 0;
	}
	return INFER_OK;
}

static double median(const struct first *f, int64_t n)
{
	memcpy(f->room, f->ms, (size_t)n * sizeof *f->ms);
	infer_sort(f->room, (size_t)n);
	return infer_quantile(f->room, (size_t)n, 0.5);
}

int first_write(infer_records *out, const struct first *f, const struct bench_opts *o,
                const infer_model *m, const char *const *sha256, int n_sha256, infer_error *err)
{
	struct jwrite *w = infer_records_begin(out, INFER_KIND_BENCH);

	jw_str(w, "bench", "first");
	jw_str(w, "cache", f->cold ? "cold" : "warm");
	jw_int(w, "repeat", o->repeat);
	jw_int(w, "created_ms", f->created_ms);
	jw_num(w, "file_bytes", f->file_bytes);
	if (f->limit_ms > 0) {
		jw_str(w, "limit", "disk");
		jw_num(w, "limit_ms", f->limit_ms);
		jw_num(w, "disk_gb_s", f->disk_gb_s);
	}
	jw_object(w, "metrics");
	infer_metric_put(w, &(struct infer_metric){ .name = "first_token_ms",
	                                            .unit = "ms",
	                                            .values = f->ms,
	                                            .scratch = f->room,
	                                            .n = (size_t)o->repeat });
	jw_end(w);
	infer_put_model(w, m, sha256, n_sha256);
	if (bench_commit())
		jw_str(w, "commit", bench_commit());
	infer_put_machine(w, (int32_t)o->engine.threads);
	return infer_records_end(out, err);
}

int first_show(const struct first *f, const struct bench_opts *o, infer_error *err)
{
	double ms = median(f, o->repeat);
	struct buf t;
	int rc;

	buf_init(&t, MEM_BASE);
	buf_printf(&t, "first token from %s: %.1f ms (%.1f-%.1f)", f->cold ? "the disk" : "memory",
	           ms, f->room[0], f->room[o->repeat - 1]);
	if (f->limit_ms > 0)
		buf_printf(&t, "; the disk alone: %.1f ms, %.2f GB/s", f->limit_ms, f->disk_gb_s);
	buf_puts(&t, "\n");
	rc = t.bad ? err_nomem(err) : say_out(t.at, t.len, err);
	buf_fini(&t);
	return rc;
}
