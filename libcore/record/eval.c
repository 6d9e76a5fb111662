/* record/eval.c - records of evaluations */
#include "record/record.h"

static void put_mean(struct jwrite *w, const char *key, const struct infer_eval_mean *m)
{
	jw_object(w, key);
	jw_num(w, "value", m->value);
	jw_num(w, "se", m->se);
	jw_end(w);
}

static void put_range(struct jwrite *w, const char *key, const struct infer_eval_range *r)
{
	jw_object(w, key);
	jw_num(w, "value", r->value);
	jw_num(w, "lo", r->lo);
	jw_num(w, "hi", r->hi);
	jw_end(w);
}

static void put_ref(struct jwrite *w, const struct infer_eval_text *t)
{
	put_mean(w, "ref_nll", &t->ref_nll);
	put_mean(w, "ref_perplexity", &t->ref_perplexity);
	put_mean(w, "ratio", &t->ratio);
	jw_object(w, "kl");
	put_range(w, "mean", &t->kl_mean);
	put_range(w, "median", &t->kl_median);
	put_range(w, "p90", &t->kl_p90);
	put_range(w, "p99", &t->kl_p99);
	jw_num(w, "max", t->kl_max);
	jw_end(w);
	jw_object(w, "dp");
	put_mean(w, "mean", &t->dp);
	put_mean(w, "rms", &t->dp_rms);
	put_range(w, "p1", &t->dp_p1);
	put_range(w, "median", &t->dp_median);
	put_range(w, "p99", &t->dp_p99);
	jw_end(w);
	put_range(w, "same_top1", &t->top1);
	put_range(w, "same_top5", &t->top5);
}

static void put_beside(struct jwrite *w, const struct infer_eval_text *t)
{
	put_mean(w, "beside_nll", &t->beside_nll);
	put_mean(w, "beside_perplexity", &t->beside_perplexity);
	put_range(w, "beside_kl", &t->beside_kl);
	put_range(w, "beside_same_top1", &t->beside_top1);
	put_range(w, "nll_difference", &t->nll_difference);
	put_range(w, "kl_difference", &t->kl_difference);
}

static void put_text_eval(struct jwrite *w, const struct infer_eval_text *t)
{
	jw_uint(w, "tokens", t->tokens);
	jw_int(w, "window", t->window);
	jw_uint(w, "windows", t->windows);
	jw_uint(w, "scored", t->scored);
	put_mean(w, "nll", &t->nll);
	put_mean(w, "perplexity", &t->perplexity);
	if (t->has_ref)
		put_ref(w, t);
	if (t->has_beside)
		put_beside(w, t);
}

static void put_choices_eval(struct jwrite *w, const struct infer_eval_choices *c)
{
	jw_uint(w, "questions", c->questions);
	jw_uint(w, "right", c->right);
	put_range(w, "accuracy", &c->accuracy);
	jw_uint(w, "right_norm", c->right_norm);
	put_range(w, "accuracy_norm", &c->accuracy_norm);
}

int infer_write_eval(infer_records *out, const struct infer_eval *e,
                     const struct infer_run_info *run, infer_error *err)
{
	struct jwrite *w = infer_records_begin(out, INFER_KIND_EVAL);

	jw_str(w, "eval", e->text ? "text" : "choices");
	jw_str(w, "sha256", e->sha256);
	if (e->text)
		put_text_eval(w, e->text);
	if (e->choices)
		put_choices_eval(w, e->choices);
	if (e->ref)
		record_model(out, "ref", e->ref);
	if (e->beside)
		record_model(out, "beside", e->beside);
	record_run(out, run);
	return infer_records_end(out, err);
}
