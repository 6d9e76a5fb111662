/* infer-bench/hash.c - sha256 of each of a model's files. */
#include "hash.h"
#include "common/progress.h"
#include "base/err.h"

int hash_files(const infer_file *f, struct arena *mem, const char *const **at, int *n,
               infer_error *err)
{
	static const struct infer_watch watch = { progress_at, NULL };
	struct infer_file_info info;
	const char **all;
	char hex[65];

	infer_file_info(f, &info);
	all = arena_alloc(mem, (size_t)info.n_shards + 1, sizeof *all);
	*at = all;
	*n = 0;
	for (int i = 0; i < info.n_shards && all; i++) {
		progress_begin("sha256", PROGRESS_BYTES, 0);
		if (info.n_shards > 1)
			progress_name("sha256 of file %d of %d:", i + 1, info.n_shards);
		TRY(infer_file_sha256(f, i, hex, &watch, err));
		all[(*n)++] = arena_strndup(mem, hex, 64);
	}
	progress_end();
	return mem->bad ? err_nomem(err) : INFER_OK;
}
