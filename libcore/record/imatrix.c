/* record/imatrix.c - records of importance matrices */
#include "record/record.h"

static int put_imatrix_entry(infer_records *out, const struct infer_imatrix_entry *e,
                             infer_error *err)
{
	struct infer_imatrix_sum s;
	struct jwrite *w = infer_records_begin(out, INFER_KIND_IMATRIX);

	infer_imatrix_sum(&s, e);
	jw_str(w, "imatrix", "tensor");
	jw_str(w, "name", e->name);
	jw_int(w, "columns", e->columns);
	jw_int(w, "matrices", e->matrices);
	jw_num(w, "least_rows", s.least);
	jw_num(w, "most_rows", s.most);
	jw_num(w, "mean_square", s.mean_square);
	jw_num(w, "largest", s.largest);
	return infer_records_end(out, err);
}

int infer_write_imatrix(infer_records *out, const infer_imatrix *m, infer_error *err)
{
	struct infer_imatrix_entry e;
	int32_t window;
	size_t n = 0;

	for (; infer_imatrix_entry(m, n, &e); n++) {
		int rc = put_imatrix_entry(out, &e, err);

		if (rc)
			return rc;
	}
	struct jwrite *w = infer_records_begin(out, INFER_KIND_IMATRIX);

	jw_str(w, "imatrix", "file");
	jw_str(w, "text", infer_imatrix_dataset(m));
	jw_uint(w, "windows", infer_imatrix_windows(m, &window));
	jw_int(w, "window", window);
	jw_uint(w, "tensors", n);
	return infer_records_end(out, err);
}
