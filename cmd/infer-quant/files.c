/* infer-quant/files.c - checks of files before and after the work. */
#include "quant.h"
#include "common/out.h"
#include "base/err.h"

static int is_none_of(const char *option, const char *path, const struct opt_list *read,
                      infer_error *err)
{
	for (int i = 0; i < read->n; i++)
		TRY(out_is_not(option, path, read->at[i], err));
	return INFER_OK;
}

int quant_check_out(const struct quant_opts *o, const char *option, const char *path,
                    const char *model, infer_error *err)
{
	const char *const read[] = { model, o->ref, o->beside, o->choices, o->imatrix, o->recipe };

	for (size_t i = 0; path && i < sizeof read / sizeof *read; i++)
		TRY(out_is_not(option, path, read[i], err));
	if (!path)
		return INFER_OK;
	TRY(is_none_of(option, path, &o->texts, err));
	return is_none_of(option, path, &o->calibration, err);
}

int quant_explain(int rc, const infer_file *f, infer_error *err)
{
	infer_error why;

	if (rc == INFER_ENAN && f && infer_file_check_finite(f, NULL, &why) == INFER_ENAN)
		*err = why;
	return rc;
}
