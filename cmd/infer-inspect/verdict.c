/* infer-inspect/verdict.c - whether a model runs on this machine, or why not, and the memory
 * that it needs. */
#include "inspect.h"
#include "base/err.h"

#include <stdio.h>
#include <string.h>

/* Remove the path at the beginning of a message, because the report names it already. */
static void drop_path(infer_error *err, const char *path)
{
	size_t n = strlen(path);
	char *at = err->message;

	while (!strncmp(at, path, n) && at[n] == ':' && at[n + 1] == ' ')
		at += n + 2;
	memmove(err->message, at, strlen(at) + 1);
}

static uint64_t total_bytes(const struct infer_engine_need *n)
{
	return n->weight_bytes + n->kv_bytes + n->workspace_bytes;
}

int judge(struct verdict *v, const infer_file *file, uint64_t available_bytes, infer_error *err)
{
	static const int32_t contexts[CONTEXTS] = { 4096, 32768, 0 };
	struct infer_model_info info;

	*v = (struct verdict){ 0 };
	if (infer_model_open_file(&v->model, file, NULL, &v->why)) {
		drop_path(&v->why, infer_file_path(file));
		goto judged;
	}
	infer_model_info(v->model, &info);
	for (int i = 0; i < CONTEXTS; i++) {
		struct infer_engine_opts o = { .ctx = contexts[i] };
		if (contexts[i] >= info.ctx_train)
			continue;
		if (infer_engine_need(v->model, &o, &v->need[v->n], &v->why))
			goto judged;
		v->n++;
	}
	if (total_bytes(&v->need[0]) > available_bytes) {
		err_set(&v->why, INFER_ENOMEM,
		        "a context of %d takes %llu MiB of memory; %llu MiB are available",
		        (int)v->need[0].ctx, (unsigned long long)total_bytes(&v->need[0]) >> 20,
		        (unsigned long long)available_bytes >> 20);
		return INFER_OK;
	}
judged:
	/* this process ran out of memory: that is not a verdict on the model */
	if (v->why.code == INFER_ENOMEM) {
		infer_model_close(&v->model);
		return err_set(err, INFER_ENOMEM, "%s: %s", infer_file_path(file), v->why.message);
	}
	return INFER_OK;
}

/* Append a count such as "1.39 billion". */
static void put_count(struct buf *out, uint64_t n)
{
	buf_printf(out, n < 1000000000 ? "%.1f million" : "%.2f billion",
	           (double)n / (n < 1000000000 ? 1e6 : 1e9));
}

void put_verdict(struct buf *out, const struct verdict *v)
{
	struct infer_model_info info;

	if (v->why.code)
		buf_printf(out, "runs here: no: %s\n", v->why.message);
	else
		buf_puts(out, "runs here: yes\n");
	if (!v->model)
		return;
	infer_model_info(v->model, &info);
	buf_printf(out, "model      %s, ", info.arch);
	put_count(out, info.n_params);
	buf_printf(out, " parameters, %d layers, a context of %d tokens\n", (int)info.n_layers,
	           (int)info.ctx_train);
	for (int i = 0; i < v->n; i++) {
		const struct infer_engine_need *n = &v->need[i];
		buf_printf(out, "%-10s %d: ", i ? "" : "memory", (int)n->ctx);
		put_size(out, total_bytes(n));
		buf_puts(out, " (weights ");
		put_size(out, n->weight_bytes);
		buf_puts(out, ", cache ");
		put_size(out, n->kv_bytes);
		buf_puts(out, ", work ");
		put_size(out, n->workspace_bytes);
		buf_puts(out, ")\n");
	}
}

void put_verdict_json(struct jwrite *w, const struct verdict *v)
{
	jw_bool(w, "runs", !v->why.code);
	if (v->why.code)
		jw_str(w, "why", v->why.message);
	jw_array(w, "memory");
	for (int i = 0; i < v->n; i++) {
		jw_object(w, NULL);
		jw_int(w, "ctx", v->need[i].ctx);
		jw_uint(w, "weight_bytes", v->need[i].weight_bytes);
		jw_uint(w, "kv_bytes", v->need[i].kv_bytes);
		jw_uint(w, "workspace_bytes", v->need[i].workspace_bytes);
		jw_end(w);
	}
	jw_end(w);
}
