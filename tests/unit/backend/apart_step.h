/* tests/unit/backend/apart_step.h - pages and steps of the backend of apart.h; part of it. */
#ifndef TESTS_APART_STEP_H
#define TESTS_APART_STEP_H

static int apart_kv_new(struct backend_cache **out, struct backend *b,
                        const struct backend_group *g, uint32_t n, infer_error *err)
{
	struct apart_cache *c;
	struct backend_cache *cpu;

	*out = NULL;
	TRY(apart_cpu()->kv_new(&cpu, ((struct apart *)apart_of(b))->cpu, g, n, err));
	*out = apart_handle(sizeof *c);
	c = apart_of(*out);
	*c = (struct apart_cache){ cpu, n };
	apart_let_cache(cpu, PROT_NONE);
	return INFER_OK;
}

static uint32_t apart_page(const struct apart_cache *c, uint32_t page)
{
	return page == BACKEND_NO_PAGE ? page : c->n - 1 - page;
}

static void apart_kv_copy(struct backend_cache *handle, uint32_t to, uint32_t from, int n)
{
	struct apart_cache *c = apart_of(handle);

	apart_let_cache(c->cpu, PROT_READ | PROT_WRITE);
	apart_cpu()->kv_copy(c->cpu, apart_page(c, to), apart_page(c, from), n);
	apart_let_cache(c->cpu, PROT_NONE);
}

/* What was dropped reads as NaN from here on, not as zero. */
static void apart_kv_drop(struct backend_cache *handle, uint32_t page)
{
	struct apart_cache *c = apart_of(handle);

	apart_let_cache(c->cpu, PROT_READ | PROT_WRITE);
	apart_cpu()->kv_drop(c->cpu, apart_page(c, page));
	memset(c->cpu->base + apart_page(c, page) * c->cpu->page_bytes, 0xff, c->cpu->page_bytes);
	apart_let_cache(c->cpu, PROT_NONE);
}

static void apart_kv_free(struct backend_cache *handle)
{
	if (!handle)
		return;
	apart_cpu()->kv_free(((struct apart_cache *)apart_of(handle))->cpu);
	apart_drop(handle);
}

/* Memory for the time of a step, and no longer. */
static void apart_let_step(const struct apart_plan *a, int open)
{
	int prot = open ? PROT_READ | PROT_WRITE : PROT_NONE;

	apart_let_plan(a, prot);
	apart_let(a->w->bytes, a->w->n_bytes, open ? PROT_READ : PROT_NONE);
	for (int g = 0; g < a->kv->n_groups; g++)
		apart_let_cache(a->caches[g], prot);
}

static int apart_begin(struct backend_plan *p, const struct backend_step *s, infer_error *err)
{
	struct apart_plan *a = apart_of(p);

	apart_let(a->logits[a->turn], a->logit_bytes, PROT_NONE);
	a->turn = !a->turn;
	apart_let(a->logits[a->turn], a->logit_bytes, PROT_READ | PROT_WRITE);
	a->kv = s->kv;
	a->n_out = s->n_out;
	for (int g = 0; g < s->kv->n_groups; g++)
		a->caches[g] = ((struct apart_cache *)apart_of(s->kv->caches[g]))->cpu;
	a->view = (struct backend_kv){ s->kv->layers, a->caches, s->kv->n_layers, s->kv->n_groups };
	for (int32_t r = 0; r < s->n_runs; r++) {
		const struct backend_run *run = &s->runs[r];
		int32_t n = (run->pos + run->n - 1) / apart_cpu()->page + 1;

		a->runs[r] = *run;
		a->runs[r].pages = a->tables + r * BACKEND_GROUPS;
		for (int g = 0; g < s->kv->n_groups; g++) {
			uint32_t *to = a->pages + (r * BACKEND_GROUPS + g) * a->per;

			for (int32_t i = 0; i < n && i < a->per; i++)
				to[i] = apart_page(apart_of(s->kv->caches[g]), run->pages[g][i]);
			a->tables[r * BACKEND_GROUPS + g] = to;
		}
	}
	a->step = *s;
	a->step.kv = &a->view;
	a->step.runs = a->runs;
	return apart_cpu()->begin(a->cpu, &a->step, err);
}

static int apart_end(struct backend_plan *p, struct backend_result *r, infer_error *err)
{
	struct apart_plan *a = apart_of(p);
	int rc;

	apart_let_step(a, 1);
	rc = apart_cpu()->end(a->cpu, r, err);
	if (!rc && r->logits)
		r->logits = memcpy(a->logits[a->turn], r->logits,
		                   (size_t)a->n_out * (size_t)a->n_vocab * sizeof(float));
	apart_let_step(a, 0);
	return rc;
}

__attribute__((unused)) static struct backend_kind apart_kind(void)
{
	return (struct backend_kind){
		.name = "apart",
		.page = apart_cpu()->page,
		.open = apart_open,
		.close = apart_close,
		.memory = apart_memory,
		.need = apart_need,
		.load = apart_load,
		.unload = apart_unload,
		.plan = apart_plan,
		.plan_free = apart_plan_free,
		.kv_new = apart_kv_new,
		.kv_copy = apart_kv_copy,
		.kv_drop = apart_kv_drop,
		.kv_free = apart_kv_free,
		.begin = apart_begin,
		.end = apart_end,
	};
}
#endif
