/* infer-inspect/lora.c - an adapter, and whether it fits a model. */
#include "inspect.h"
#include <infer/lora.h>
#include "base/err.h"

#include <stdio.h>
#include <string.h>

static const char *type_name(int type) { return infer_type_info(type)->name; }

static void put_entry_text(struct buf *out, const struct infer_lora_entry *e)
{
	char types[32], shape[64];
	int whole = e->kind == INFER_LORA_WHOLE;

	snprintf(types, sizeof types, "%s%s%s", type_name(e->a_type), whole ? "" : "/",
	         whole ? "" : type_name(e->b_type));
	snprintf(shape, sizeof shape, "%lld x %lld", (long long)e->ne[0], (long long)e->ne[1]);
	if (e->n_matrices > 1)
		snprintf(shape + strlen(shape), sizeof shape - strlen(shape), " x %d",
		         e->n_matrices);
	if (whole)
		buf_printf(out, "%5s %8s", "whole", "-");
	else
		buf_printf(out, "%5d %8.4g", e->rank, e->scale);
	buf_printf(out, " %12llu %-10s %-20s %s\n", (unsigned long long)e->bytes, types, shape,
	           e->tensor);
}

static void put_text(struct buf *out, const infer_lora *l, const char *model)
{
	struct infer_model_info base;
	struct infer_lora_info info;
	struct infer_lora_entry e;

	infer_lora_info(l, &info);
	infer_model_info(info.model, &base);
	buf_puts(out, "adapter    ");
	put_plain(out, (struct infer_str){ info.path, strlen(info.path) }, SIZE_MAX);
	buf_puts(out, "\nname       ");
	put_plain(out, info.name, 200);
	buf_printf(out, "\nmethod     LoRA, alpha %g, rank up to %d\nfits       ", info.alpha,
	           info.max_rank);
	put_plain(out, (struct infer_str){ model, strlen(model) }, SIZE_MAX);
	buf_printf(out, " (%s)\nmemory     ", base.arch);
	put_bytes(out, info.bytes);
	buf_printf(out, ", %llu parameters\n", (unsigned long long)info.n_params);
	if (info.task.len) {
		buf_puts(out, "task       ");
		put_plain(out, info.task, 200);
		buf_putc(out, '\n');
	}
	if (info.prefix.len) {
		buf_puts(out, "prefix     ");
		put_plain(out, info.prefix, 200);
		buf_putc(out, '\n');
	}
	buf_printf(out, "sha256     %s\ntensors    %d\n\n", info.sha256, info.n_entries);
	buf_puts(out, " rank   factor        bytes types      shape                tensor\n");
	for (int32_t i = 0; i < info.n_entries; i++) {
		infer_lora_entry(l, i, &e);
		put_entry_text(out, &e);
	}
}

static void put_entry_json(struct jwrite *w, const struct infer_lora_entry *e)
{
	int whole = e->kind == INFER_LORA_WHOLE;

	jw_object(w, NULL);
	jw_str(w, "name", e->tensor);
	jw_str(w, "change", whole ? "whole" : "pair");
	if (!whole) {
		jw_int(w, "rank", e->rank);
		jw_num(w, "factor", e->scale);
	}
	jw_array(w, "types");
	jw_str(w, NULL, type_name(e->a_type));
	if (!whole)
		jw_str(w, NULL, type_name(e->b_type));
	jw_end(w);
	jw_array(w, "shape");
	jw_int(w, NULL, e->ne[0]);
	jw_int(w, NULL, e->ne[1]);
	if (e->n_matrices > 1)
		jw_int(w, NULL, e->n_matrices);
	jw_end(w);
	jw_uint(w, "size_bytes", e->bytes);
	jw_end(w);
}

static void put_json(struct buf *out, const infer_lora *l, const char *model, uint32_t flags)
{
	struct infer_model_info base;
	struct infer_lora_info info;
	struct infer_lora_entry e;
	struct jwrite w;

	infer_lora_info(l, &info);
	infer_model_info(info.model, &base);
	infer_record_open(&w, out, INFER_KIND_ADAPTER, flags);
	jw_str(&w, "path", info.path);
	jw_strn(&w, "name", info.name.at, info.name.len);
	jw_str(&w, "method", "lora");
	jw_str(&w, "model", model);
	jw_str(&w, "architecture", base.arch);
	jw_num(&w, "alpha", info.alpha);
	jw_int(&w, "max_rank", info.max_rank);
	if (info.task.len)
		jw_strn(&w, "task", info.task.at, info.task.len);
	if (info.prefix.len)
		jw_strn(&w, "prompt_prefix", info.prefix.at, info.prefix.len);
	jw_uint(&w, "parameters", info.n_params);
	jw_uint(&w, "memory_bytes", info.bytes);
	jw_str(&w, "sha256", info.sha256);
	jw_array(&w, "tensors");
	for (int32_t i = 0; i < info.n_entries; i++) {
		infer_lora_entry(l, i, &e);
		put_entry_json(&w, &e);
	}
	jw_end(&w);
	infer_record_close(&w);
}

int lora(struct buf *out, const struct inspect_opts *o, const infer_file *file,
         const struct opt_rest *words, infer_error *err)
{
	infer_model *m;
	infer_lora *l;
	int rc;

	if (!words->n_words)
		return err_set(err, INFER_EINVAL,
		               "lora takes adapters: GGUF files or directories "
		               "of PEFT");
	TRY(infer_model_open_file(&m, file, NULL, err));
	rc = INFER_OK;
	for (int i = 0; i < words->n_words && !rc; i++) {
		rc = infer_lora_open(&l, m, words->words[i], NULL, NULL, err);
		if (rc)
			break;
		if (i && !o->json)
			buf_putc(out, '\n');
		if (o->json)
			put_json(out, l, infer_file_path(file), i ? 0 : INFER_RECORD_FIRST);
		else
			put_text(out, l, infer_file_path(file));
		infer_lora_close(&l);
	}
	infer_model_close(&m);
	return rc;
}
