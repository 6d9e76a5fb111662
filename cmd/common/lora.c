/* common/lora.c - the option --lora. */
#include "common/lora.h"
#include "common/say.h"
#include "base/err.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int lora_split(char **path, float *scale, const char *text, infer_error *err)
{
	const char *eq = strrchr(text, '=');
	char *end = NULL;
	double v = 1;
	size_t n = strlen(text);

	*path = NULL;
	/* strtod also reads "inf", "nan" and hexadecimal numbers, which are parts of a name here */
	if (eq && eq[1] && eq[1 + strspn(eq + 1, "0123456789+-.eE")] == 0) {
		v = strtod(eq + 1, &end);
		if (*end)
			v = 1;
		else
			n = (size_t)(eq - text);
	}
	if (!n)
		return err_set(err, INFER_EINVAL, "adapter %.120s: names no file", text);
	*scale = (float)v;
	if (!isfinite(*scale))
		return err_set(err, INFER_EINVAL, "adapter %.120s: the scale is too large", text);
	*path = mem_strndup(MEM_BASE, text, n);
	return *path ? INFER_OK
	             : err_set(err, INFER_ENOMEM, "out of memory for the name of an adapter");
}

/* Open one adapter and add it to the set. */
static int add_adapter(struct adapters *a, const char *text, int applies, const infer_model *m,
                       infer_error *err)
{
	struct infer_adapter one = { .name = NULL };
	char *path;
	int rc;

	TRY(lora_split(&path, &one.scale, text, err));
	rc = infer_lora_open(&one.lora, m, path, say_log, NULL, err);
	one.applied = applies ? one.scale : 0;
	if (!rc)
		rc = infer_adapters_add(a->set, &one, err);
	infer_lora_close(&one.lora);
	mem_free(path);
	return rc;
}

/* List the adapters, and those that are applied. */
static int list_adapters(struct adapters *a, infer_error *err)
{
	TRY(infer_adapters_copy(&a->list, &a->n, a->set, err));
	for (size_t i = 0; i < a->n; i++)
		if (a->list[i].applied != 0) {
			a->names[a->n_uses] = a->list[i].name;
			a->uses[a->n_uses++] = (struct infer_lora_use){
				.lora = a->list[i].lora,
				.factor = a->list[i].applied,
			};
		}
	return INFER_OK;
}

int adapters_open(struct adapters *a, const struct opt_list *files, int applies,
                  const infer_model *m, infer_error *err)
{
	int rc;

	*a = (struct adapters){ .set = NULL };
	if (!files->n)
		return INFER_OK;
	rc = infer_adapters_new(&a->set, err);
	for (int i = 0; !rc && i < files->n; i++)
		rc = add_adapter(a, files->at[i], applies, m, err);
	if (!rc)
		rc = list_adapters(a, err);
	if (rc)
		adapters_close(a);
	return rc;
}

void adapters_close(struct adapters *a)
{
	infer_adapters_release(a->list, a->n);
	infer_adapters_free(a->set);
	*a = (struct adapters){ .set = NULL };
}

void adapters_use(infer_job *j, const struct adapters *a)
{
	j->request.loras = a->n_uses ? a->uses : NULL;
	j->request.n_loras = a->n_uses;
	j->lora_names = a->names;
}
