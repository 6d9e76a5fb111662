/* infer-quant/merge_lora.c - open the adapters of --merge-lora. */
#include "merge_lora.h"
#include "base/err.h"
#include "base/mem.h"
#include "common/lora.h"
#include "common/out.h"
#include "common/say.h"

static int fail_measured(infer_error *err)
{
	return err_set(
		err, INFER_EINVAL,
		"--merge-lora: GPTQ, --bpw, --max-bytes and --report measure IN, which lacks "
		"the adapter: merge it into a file first, with --type F16 or --copy");
}

/* Refuse an output with the name of an adapter. */
static int check_adapter(const char *text, const char *out, infer_error *err)
{
	float scale;
	char *path;
	int rc = lora_split(&path, &scale, text, err);

	if (!rc && out)
		rc = out_is_not("", out, path, err);
	mem_free(path);
	return rc;
}

int merge_lora_check(const struct quant_opts *o, const char *out, infer_error *err)
{
	if (!o->merge_lora.n)
		return INFER_OK;
	if (quant_gptq(o) || o->max_bytes || o->bpw > 0 || o->report)
		return fail_measured(err);
	if (o->merge_lora.n > INFER_LORA_USES)
		return err_set(err, INFER_EINVAL, "--merge-lora: at most %d adapters",
		               INFER_LORA_USES);
	for (int i = 0; i < o->merge_lora.n; i++)
		TRY(check_adapter(o->merge_lora.at[i], out, err));
	return INFER_OK;
}

static int open_adapter(struct merge_lora *m, const char *text, infer_error *err)
{
	struct infer_lora_use *u = &m->uses[m->n];
	char *path;
	int rc = lora_split(&path, &u->factor, text, err);

	if (!rc)
		rc = infer_lora_open(&u->lora, m->model, path, say_log, NULL, err);
	m->n += !rc;
	mem_free(path);
	return rc;
}

int merge_lora_open(struct merge_lora *m, const struct quant_opts *o, const infer_file *file,
                    const struct infer_recipe_info *recipe, infer_error *err)
{
	const struct infer_model_opts mo = { 0 };

	if (!o->merge_lora.n)
		return INFER_OK;
	if (recipe->gptq || recipe->max_bytes || recipe->bpw > 0)
		return fail_measured(err);
	TRY(infer_model_open_file(&m->model, file, &mo, err));
	for (int i = 0; i < o->merge_lora.n; i++)
		TRY(open_adapter(m, o->merge_lora.at[i], err));
	return INFER_OK;
}

void merge_lora_close(struct merge_lora *m)
{
	while (m->n)
		infer_lora_close(&m->uses[--m->n].lora);
	infer_model_close(&m->model);
}
