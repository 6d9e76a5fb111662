/* quant/certificate.c - metadata keys about how a file was made, and its quality loss. */
#include "quant/certificate.h"
#include <infer/kvtype.h>
#include "base/err.h"
#include "base/num.h"
#include "base/os.h"
#include "file/file.h"

#include <stdio.h>
#include <string.h>

static int begins(struct infer_str key, const char *with)
{
	size_t n = strlen(with);

	return key.len > n && !memcmp(key.at, with, n);
}

int infer_certificate_is(struct infer_str key) { return begins(key, CERTIFICATE); }

static void write_str(struct gguf_write *w, const char *key, const char *s)
{
	gguf_write_str(w, key, s, strlen(s));
}

static void put_gptq(struct gguf_write *w, const struct recipe_gptq *g)
{
	if (g->files_sha256)
		write_str(w, CERTIFICATE "gptq.text.sha256", g->files_sha256);
	gguf_write_u32(w, CERTIFICATE "gptq.window", (uint32_t)g->window);
	write_str(w, CERTIFICATE "gptq.kv_type", g->kv_type);
	write_str(w, CERTIFICATE "gptq.act_type", g->act_type);
	write_str(w, CERTIFICATE "gptq.core", g->core);
}

int certificate_recipe(struct gguf_write *w, const infer_quant *q, infer_error *err)
{
	const infer_recipe *r = q->recipe;
	struct buf rules, rule;
	char hex[65];

	write_str(w, CERTIFICATE "version", infer_version());
	write_str(w, CERTIFICATE "type", q->name->name);
	write_str(w, CERTIFICATE "method", method_name(r->method));
	write_str(w, CERTIFICATE "recipe", q->text.at);
	if (q->gptq)
		put_gptq(w, &q->read);
	if (q->importance) {
		importance_sha256(q->importance, hex);
		write_str(w, CERTIFICATE "imatrix.sha256", hex);
	}
	if (!r->n)
		return INFER_OK;
	buf_init(&rules, MEM_QUANT);
	buf_init(&rule, MEM_QUANT);
	for (size_t i = 0; i < r->n; i++) {
		buf_clear(&rule);
		buf_printf(&rule, "%s=%s", r->rules[i].pattern,
		           infer_type_info(r->rules[i].type)->name);
		if (rule.bad)
			rules.bad = 1;
		else
			gguf_put_str(&rules, rule.at, rule.len);
	}
	int rc = rules.bad ? err_nomem(err) : INFER_OK;

	if (!rc)
		gguf_write_array(w, CERTIFICATE "keep", INFER_META_STR, r->n, rules.at, rules.len);
	buf_fini(&rules);
	buf_fini(&rule);
	return rc;
}

/* ---- figures ---- */

static void put_mean(struct gguf_write *w, const char *key, const struct infer_eval_mean *m)
{
	const double v[] = { m->value, m->se };

	gguf_write_array(w, key, INFER_META_F64, 2, v, sizeof v);
}

static void put_range(struct gguf_write *w, const char *key, const struct infer_eval_range *r)
{
	const double v[] = { r->value, r->lo, r->hi };

	gguf_write_array(w, key, INFER_META_F64, 3, v, sizeof v);
}

static void put_options(struct gguf_write *w, const infer_engine *e)
{
	struct infer_engine_info info;
	char text[64];

	infer_engine_info(e, &info);
	snprintf(text, sizeof text, info.k_type == info.v_type ? "%s" : "%s,%s",
	         infer_kv_name(info.k_type), infer_kv_name(info.v_type));
	write_str(w, CERTIFICATE_EVAL "kv_type", text);
	write_str(w, CERTIFICATE_EVAL "act_type", info.act_type == INFER_BF16 ? "bf16" : "f32");
}

static void put_reference(struct gguf_write *w, const struct infer_certificate *c)
{
	const struct infer_eval_text *e = c->eval;
	char hex[65];

	infer_file_id(c->ref, hex);
	write_str(w, CERTIFICATE_EVAL "reference.id", hex);
	put_mean(w, CERTIFICATE_EVAL "reference.perplexity", &e->ref_perplexity);
	put_mean(w, CERTIFICATE_EVAL "ratio", &e->ratio);
	put_range(w, CERTIFICATE_EVAL "kl.mean", &e->kl_mean);
	put_range(w, CERTIFICATE_EVAL "kl.median", &e->kl_median);
	put_range(w, CERTIFICATE_EVAL "kl.p90", &e->kl_p90);
	put_range(w, CERTIFICATE_EVAL "kl.p99", &e->kl_p99);
	gguf_write_f64(w, CERTIFICATE_EVAL "kl.max", e->kl_max);
	put_range(w, CERTIFICATE_EVAL "top1", &e->top1);
	put_range(w, CERTIFICATE_EVAL "top5", &e->top5);
}

static void put_figures(struct gguf_write *w, const struct infer_certificate *c)
{
	const struct infer_eval_text *e = c->eval;

	write_str(w, CERTIFICATE_EVAL "version", infer_version());
	write_str(w, CERTIFICATE_EVAL "text.sha256", c->sha256);
	gguf_write_u64(w, CERTIFICATE_EVAL "text.bytes", c->text_bytes);
	gguf_write_u64(w, CERTIFICATE_EVAL "text.tokens", e->tokens);
	gguf_write_u64(w, CERTIFICATE_EVAL "scored", e->scored);
	gguf_write_u32(w, CERTIFICATE_EVAL "window", (uint32_t)e->window);
	put_options(w, c->engine);
	put_mean(w, CERTIFICATE_EVAL "perplexity", &e->perplexity);
	if (c->ref)
		put_reference(w, c);
}

/* ---- the file ---- */

int infer_certificate_check(const infer_file *f, infer_error *err)
{
	const struct file_shard *s = &f->shards[0];
	struct infer_gguf_info gguf;

	if (!s->path)
		return err_set(err, INFER_EINVAL,
		               "%s: is not a file that figures can be written into",
		               file_label(f->path));
	if (infer_file_gguf(f, &gguf, NULL))
		return err_set(err, INFER_EUNSUP, "%s: figures can be written into GGUF files only",
		               file_label(f->path));
	if (f->own)
		return err_set(
			err, INFER_EUNSUP,
			"%s: is a file of Ollama: write figures into a copy (infer-quant --copy)",
			file_label(f->path));
	if (s->own)
		return err_set(
			err, INFER_EUNSUP,
			"%s: is compressed: figures can be written into uncompressed files only",
			file_label(f->path));
	return INFER_OK;
}

static int write_to(const char *path, const infer_file *f, const struct infer_certificate *c,
                    infer_error *err)
{
	struct gguf_write *w = NULL;
	const struct infer_meta *m;
	int rc = gguf_write_new(&w, path, err);

	for (uint64_t i = 0; !rc && (m = infer_file_meta_at(f, i)); i++) {
		if (m->key.len == strlen("general.alignment") &&
		    !memcmp(m->key.at, "general.alignment", m->key.len))
			gguf_write_alignment(w, num_u32(file_value(m)->at));
		else if (!begins(m->key, CERTIFICATE_EVAL))
			gguf_write_copy(w, m);
	}
	if (!rc) {
		put_figures(w, c);
		gguf_write_tensors_of(w, f);
		rc = infer_file_check_unchanged(f, err);
	}
	if (!rc)
		rc = gguf_write_end(w, err);
	gguf_write_free(w);
	return rc ? rc : os_dir_sync(path, err);
}

int infer_certificate_write(const infer_file *f, const struct infer_certificate *c,
                            infer_error *err)
{
	TRY(infer_certificate_check(f, err));
	return write_to(f->shards[0].path, f, c, err);
}
