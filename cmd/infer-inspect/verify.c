/* infer-inspect/verify.c - print the SHA-256 of the files, and check that all weights are
 * finite. */
#include "inspect.h"
#include "common/progress.h"
#include "base/err.h"

int verify(struct buf *out, const struct inspect_opts *o, const infer_file *file,
           const struct opt_rest *words, infer_error *err)
{
	static const struct infer_watch watch = { progress_at, NULL };
	struct infer_file_info info;
	struct jwrite w;
	char hex[65];

	(void)words;
	infer_file_info(file, &info);
	if (o->json) {
		infer_record_open(&w, out, INFER_KIND_VERIFY, INFER_RECORD_FIRST);
		jw_str(&w, "name", infer_file_path(file));
		jw_uint(&w, "file_bytes", info.file_bytes);
		jw_array(&w, "sha256");
	}
	for (int i = 0; i < info.n_shards; i++) {
		progress_begin("sha256", PROGRESS_BYTES, 0);
		if (info.n_shards > 1)
			progress_name("sha256 of file %d of %d:", i + 1, info.n_shards);
		TRY(infer_file_sha256(file, i, hex, &watch, err));
		if (o->json)
			jw_str(&w, NULL, hex);
		else
			buf_printf(out, "sha256  %s  (file %d of %d)\n", hex, i + 1, info.n_shards);
	}
	progress_begin("weights", PROGRESS_BYTES, 0);
	TRY(infer_file_check_finite(file, &watch, err));
	progress_end();
	infer_file_id(file, hex);
	if (!o->json) {
		buf_printf(out, "id      %s\nfinite  all weights of %llu tensors\n", hex,
		           (unsigned long long)info.n_tensors);
		return INFER_OK;
	}
	jw_end(&w);
	jw_str(&w, "id", hex);
	jw_bool(&w, "finite", 1);
	infer_record_close(&w);
	return INFER_OK;
}
