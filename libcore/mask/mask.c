/* mask/mask.c - combine the cached entries of the stacks to a mask. */
#include "base/err.h"
#include "base/utf8.h"
#include "mask/query.h"
#include "ir/match_differ.h"
#include "automata/work.h"

#include <string.h>

enum {
	DEEP = 256, /* items that one token may end; deeper, tokens are checked byte by byte */
	RULES = 4   /* items of rules that share one entry */
};

/* -- the items below ------------------------------------------------------------------------- */

static int fill_state(struct mask_query *q, const struct trie *t, const struct match_state *at)
{
	if (q->k->g->lexed)
		return fill_lexed_state(q, t, at);
	for (uint32_t i = 0; i < at->n; i++)
		TRY(fill_stack(q, t, at->top[i]));
	return INFER_OK;
}

/* Add the tokens of the stacks that a step has made; rc: result of the step. */
static int fill_step(struct mask_query *q, const struct trie *t, struct step *s, int rc)
{
	if (!rc)
		rc = fill_state(q, t, &s->out);
	match_drop(q->m, &s->out);
	return rc;
}

/* Return the last item that the entry of a stack covers: rules are short and end often, so an entry
 * covers up to RULES of them. */
static struct stack_item *last_covered(struct stack_item *top)
{
	if (top->kind == ITEM_RULE || top->kind == ITEM_PART_TEXT)
		for (int n = 1; top->up->kind == ITEM_RULE && n < RULES; n++)
			top = top->up;
	return top;
}

static int fill_below(struct mask_query *q, const struct trie *t, struct stack_item *top)
{
	struct step s = { q->m, q->k->g, q->m->steps, { 0 }, q->err };
	struct stack_item *up = last_covered(top)->up;

	if (up->kind == ITEM_RULE) {
		int rc = step_enter_rule(&s, up->data[0], up->up);

		if (!rc && q->k->g->lexed)
			rc = step_add_skips(&s);
		return fill_step(q, t, &s, rc);
	}
	return fill_stack(q, t, up);
}

/* -- names ---------------------------------------------------------------------------------- */

/* Add the tokens in which a name ends. */
static int fill_ending(struct mask_query *q, const struct ending *x, struct stack_item *top)
{
	struct step s = { q->m, q->k->g, q->m->steps, { 0 }, q->err };
	int rc = x->slot == NOWHERE ? step_end_class_name(&s, top)
	                            : step_end_slot_name(&s, top, x->slot);

	for (uint32_t i = 0; i < x->n && !rc && s.out.n; i++)
		bit_set(q->bits, x->id[i]);
	if (x->rest.n_texts)
		return fill_step(q, &x->rest, &s, rc);
	match_drop(q->m, &s.out);
	return rc;
}

static int fill_slots(struct mask_query *q, const struct trie *t, const struct entry *e,
                      struct stack_item *top)
{
	struct step s = { q->m, q->k->g, q->m->steps, { 0 }, q->err };
	const uint32_t lo = top->data[0], n = top->data[1] - lo;
	/* free[i]: number of free slots among the first i */
	uint32_t few[64],
		*free = n < 64 ? few : slab_alloc(q->m->slab, (size_t)n + 1, sizeof *free);
	int rc = free ? charge_query(q, n / 8 + e->n_slots / 8) : err_nomem(q->err);

	if (free)
		free[0] = 0;
	for (uint32_t i = 0; i < n && !rc; i++)
		free[i + 1] = free[i] + (uint32_t)step_slot_free(&s, top->up, lo + i);
	for (uint32_t i = 0; i < e->n_slots && !rc; i++)
		if (free[e->slot[i].hi - lo] > free[e->slot[i].lo - lo])
			bit_set(q->bits, e->slot[i].id);
	for (uint32_t i = 0; i < e->n_endings && !rc; i++)
		if (free[e->ending[i].slot - lo + 1] > free[e->ending[i].slot - lo])
			rc = fill_ending(q, e->ending + i, top);
	if (free != few)
		slab_free(q->m->slab, free);
	for (uint32_t i = 0; i < e->n_partial && !rc; i++) {
		const struct trie_text *x = t->text + e->partial[i];
		int takes;

		rc = check_text(q, x, top, &takes);
		if (takes)
			bit_set(q->bits, x->id);
	}
	return rc;
}

/* -- entries -------------------------------------------------------------------------------- */

static int fill_entry(struct mask_query *q, const struct trie *t, const struct entry *e,
                      struct stack_item *top)
{
	for (uint32_t i = 0; e->id && i < e->n; i++)
		bit_set(q->bits, e->id[i]);
	for (uint32_t i = 0; e->bits && i < q->k->words; i++)
		q->bits[i] |= e->bits[i];
	if (e->key.kind == ENTRY_SLOTS)
		return fill_slots(q, t, e, top);
	for (uint32_t i = 0; i < e->n_endings; i++)
		if (e->key.kind == ENTRY_NAME)
			TRY(fill_ending(q, e->ending + i, top));
		else if (e->ending[i].rest.n_texts)
			TRY(fill_below(q, &e->ending[i].rest, top));
	return e->may_leave ? fill_below(q, t, top) : INFER_OK;
}

/* -- names that are used already ------------------------------------------------------------ */

/* Context-dependent texts: entries ignore earlier names and elements, so may allow too many. */
struct dependents {
	const struct trie *t;
	struct slab *slab;
	uint32_t n, cap, *text;
	infer_error *err;
};

static int add_dependent(struct dependents *d, uint32_t text)
{
	const uint32_t cap = d->cap ? 2 * d->cap : d->t->n_quoted + 64;
	uint32_t *more;

	if (d->n == d->cap) {
		more = slab_realloc(d->slab, d->text, cap, sizeof *more);
		if (!more)
			return err_nomem(d->err);
		d->text = more;
		d->cap = cap;
	}
	d->text[d->n++] = text;
	return INFER_OK;
}

/* Add the texts that begin with the last n characters of an earlier name and a quote. */
static int add_rest_of_name(struct dependents *d, const struct stack_item *name, uint32_t n)
{
	char *bytes = slab_alloc(d->slab, (size_t)n + 1, 4);
	const struct trie_node *x;
	char *at = bytes + 4 * n;
	uint32_t node, left;

	if (!bytes)
		return err_nomem(d->err);
	*at = '"';
	for (left = 1; n--; name = name->up) {
		char c[4];
		const uint32_t k = (uint32_t)utf8_put(c, name->data[0]);

		at -= k;
		left += k;
		memcpy(at, c, k);
	}
	node = trie_find(d->t, at, left);
	slab_free(d->slab, bytes);
	x = d->t->node + node;
	for (uint32_t i = x->first; node && i < d->t->node[x->skip].first; i++)
		TRY(add_dependent(d, i));
	return INFER_OK;
}

/* Add the texts that can complete the name to an earlier one. */
static int add_names(struct dependents *d, const struct stack_item *top)
{
	const uint32_t so_far = top->side ? top->side->data[1] : 0;
	int some = 0;

	for (const struct stack_item *names = top->up->side; names; names = names->up) {
		const struct stack_item *x = names->side;
		const uint32_t n = x ? x->data[1] : 0;

		if (n < so_far || n - so_far > d->t->longest)
			continue;
		for (uint32_t i = so_far; i < n; i++)
			x = x->up;
		if (x != top->side)
			continue;
		some = 1;
		TRY(add_rest_of_name(d, names->side, n - so_far));
	}
	for (uint32_t i = 0; i < d->t->n_escaped && some; i++)
		TRY(add_dependent(d, d->t->escaped[i]));
	return INFER_OK;
}

/* Add the tokens of the entry, and check its dependent texts byte by byte.  was: scratch [d->n] */
static int fill_dependents(struct mask_query *q, const struct dependents *d, const struct entry *e,
                           struct stack_item *top, uint8_t *was)
{
	int rc, takes;

	for (uint32_t i = 0; i < d->n; i++)
		was[i] = (uint8_t)bit_get(q->bits, d->t->text[d->text[i]].id);
	for (uint32_t i = 0; i < d->n; i++)
		bit_clear(q->bits, d->t->text[d->text[i]].id);
	rc = fill_entry(q, d->t, e, top);
	for (uint32_t i = 0; i < d->n && !rc; i++) {
		const struct trie_text *x = d->t->text + d->text[i];

		takes = was[i];
		if (!takes && bit_get(q->bits, x->id))
			rc = check_text(q, x, top, &takes);
		bit_clear(q->bits, x->id);
		if (takes)
			bit_set(q->bits, x->id);
	}
	return rc;
}

/* Add the tokens of an entry whose names depend on earlier ones: texts with two quotes may contain
 * a whole name; within a name, one quote may end it. */
static int fill_checked(struct mask_query *q, const struct trie *t, const struct entry *e,
                        struct stack_item *top)
{
	struct dependents d = { .t = t, .slab = q->m->slab, .err = q->err };
	uint8_t *was = NULL;
	int rc = INFER_OK;

	for (uint32_t i = 0; i < t->n_quoted && !rc; i++)
		rc = add_dependent(&d, t->quoted[i]);
	if (!rc && top->kind == ITEM_CLASS_KEY)
		rc = add_names(&d, top);
	if (!rc)
		rc = is_costly(q, d.n) ? INFER_EAGAIN : charge_query(q, d.n);
	if (!rc) {
		was = slab_alloc(d.slab, (size_t)d.n + 1, 1);
		rc = was ? fill_dependents(q, &d, e, top, was) : err_nomem(q->err);
	}
	slab_free(d.slab, was);
	slab_free(d.slab, d.text);
	return rc;
}

/* True if the mask depends on earlier names; *counted: also on their number. */
static int has_names(const struct grammar *g, const struct stack_item *top, int *counted)
{
	const struct stack_item *object = top->kind == ITEM_CLASS_KEY ? top->up : top;
	const struct object_shape *o = g->object[object->data[SHAPE]];

	*counted = 0;
	for (uint32_t i = 0; i < o->n_classes && object->side; i++)
		*counted |= o->class[i].count != NULL;
	return top->kind == ITEM_CLASS_KEY || object->side != NULL;
}

/* Copy the items that the entry covers onto the hole. */
static int copy_onto_hole(struct mask *k, struct stack_item **out, struct stack_item *top,
                          infer_error *err)
{
	const struct stack_item *copied[RULES], *last = last_covered(top);
	struct stack_item *up;
	int n = 0, rc = INFER_OK;

	do
		copied[n++] = top;
	while (top != last && (top = top->up));
	/* nothing may follow the end of the text */
	up = stack_ref(last->up->kind == ITEM_DONE ? k->done : k->hole);
	while (n-- && !rc) {
		struct stack_item like = { .up = up, .kind = copied[n]->kind, .n = copied[n]->n };
		struct stack_item *made = NULL;

		rc = stack_intern(&made, &k->m->stacks, &like, copied[n]->data, err);
		stack_drop(&k->m->stacks, up);
		up = made;
	}
	*out = up;
	return rc;
}

static void text_key(struct entry_key *key, struct entry_source *from, enum entry_kind kind,
                     const struct dfa *text, const uint32_t *d)
{
	key->kind = kind;
	key->what = from->text = text;
	key->d[0] = from->state = d[0];
	if (kind != ENTRY_NUMBER)
		memcpy(key->d + 1, d + 1, 2 * sizeof *d);
	from->span = SPAN_ANY;
	from->simple = 1;
}

/* Return n, or one number for all that mean the same for tokens of at most `longest` characters. */
static struct span clamp_span(struct span n, uint32_t longest, uint32_t deep, uint32_t high)
{
	if (n.most >= (uint64_t)longest + deep)
		n.most = DFA_FAR;
	if (n.least > (uint64_t)longest + high)
		n.least = longest + high + 1;
	return n;
}

/* The key of a string or name; like: deep and high of its automaton. */
static void string_key(const struct trie *t, struct entry_key *key, struct entry_source *from,
                       struct span n, const struct alt *like)
{
	static const char same;
	uint32_t accepts, left;
	const enum text_kind is = text_kind(from->text, from->state, t->longest, &accepts, &left);

	if (is == TEXT_IRREGULAR) {
		n = clamp_span(n, t->longest, like->deep, like->high);
		from->simple = (n.most == DFA_FAR || !like->deep) && (!n.least || !like->high);
	} else {
		/* without an end within a token, no limit is near */
		n = accepts ? clamp_span(n, t->longest, 0, 0) : SPAN_ANY;
		if (is == TEXT_COUNTED && left < n.most && left < t->longest)
			n.most = left;
		from->free = 1;
		key->what = &same;
		key->d[0] = accepts;
	}
	from->span = n;
	key->d[3] = n.most;
	key->d[4] = n.least;
}

static int make_key(struct mask *k, const struct trie *t, struct entry_key *key,
                    struct entry_source *from, struct stack_item *top, infer_error *err)
{
	const uint32_t *d = top->data;

	key->serial = t->serial;
	switch (top->kind) {
	case ITEM_STRING:
		text_key(key, from, ENTRY_STRING, item_dfa(k->g, top), d + 2);
		string_key(t, key, from, item_span(top), k->g->goal[d[0]].alt + d[1]);
		return INFER_OK;
	case ITEM_NUMBER:
		text_key(key, from, ENTRY_NUMBER, item_dfa(k->g, top), d + 2);
		return INFER_OK;
	case ITEM_CLASS_KEY:
		text_key(key, from, ENTRY_NAME,
		         k->g->object[top->up->data[SHAPE]]->class[d[0]].names, d + 1);
		string_key(t, key, from, SPAN_ANY, &(const struct alt){ 0 });
		return INFER_OK;
	case ITEM_TEXT:
		text_key(key, from, ENTRY_TEXT, k->g->text, d);
		return INFER_OK;
	case ITEM_SLOT_KEY:
		key->kind = ENTRY_SLOTS;
		key->what = k->g->object[top->up->data[SHAPE]];
		memcpy(key->d, d, 5 * sizeof *d);
		return INFER_OK;
	default:
		TRY(copy_onto_hole(k, &from->stack, top, err));
		key->what = from->stack;
		return INFER_OK;
	}
}

int get_entry(struct mask_query *q, struct entry **out, const struct trie *t,
              const struct entry_key *key, const struct entry_source *from)
{
	if (q->recall && !mask_has(q->k, key))
		return INFER_EAGAIN;
	return mask_get_entry(out, q->k, t, key, from, q->left->steps, q->err);
}

static int fill_top(struct mask_query *q, const struct trie *t, struct stack_item *top, int names)
{
	struct entry_key key = { 0 };
	struct entry_source from = { 0 };
	struct entry *e;
	int rc;

	TRY(make_key(q->k, t, &key, &from, top, q->err));
	rc = get_entry(q, &e, t, &key, &from);
	if (from.stack)
		stack_drop(&q->k->m->stacks, from.stack);
	TRY(rc);
	TRY(charge_query(q, e->steps));
	if (names)
		return fill_checked(q, t, e, top);
	return fill_entry(q, t, e, top);
}

/* -- elements that differ ------------------------------------------------------------------- */

/* Return the string or name within an element if its value can differ whatever follows; else NULL. */
static struct stack_item *find_free_text(struct mask_query *q, struct stack_item *top)
{
	struct step s = { q->m, q->k->g, q->m->steps, { 0 }, q->err };
	const struct grammar *g = q->k->g;

	while (top->kind == ITEM_ELEMENT)
		top = top->side;
	if (top->kind == ITEM_STRING)
		return !g->goal[top->data[0]].alt[top->data[1]].count ||
		                       (top->up->kind != ITEM_HOLE &&
		                        has_many_values_left(&s, top->up))
		               ? top
		               : NULL;
	if (top->kind != ITEM_CLASS_KEY)
		return NULL;
	return g->object[top->up->data[SHAPE]]->class[top->data[0]].count ? NULL : top;
}

/* Add the tokens of a string or name that have no quote and, if `escapes`, no \. */
static int fill_plain(struct mask_query *q, const struct trie *t, struct stack_item *text,
                      int escapes)
{
	const uint64_t *quoted = vocab_quoted(q->k->v, escapes);
	struct entry_key key = { 0 };
	struct entry_source from = { 0 };
	struct entry *e;

	TRY(make_key(q->k, t, &key, &from, text, q->err));
	TRY(get_entry(q, &e, t, &key, &from));
	TRY(charge_query(q, e->steps));
	for (uint32_t i = 0; e->id && i < e->n; i++)
		if (!bit_get(quoted, e->id[i]))
			bit_set(q->bits, e->id[i]);
	for (uint32_t i = 0; e->bits && i < q->k->words; i++)
		q->bits[i] |= e->bits[i] & ~quoted[i];
	return INFER_OK;
}

/* Add the texts that are prefixes of an earlier element without its first n bytes. */
static int add_element(struct dependents *d, const struct stack_item *seen, uint32_t n)
{
	const char *bytes = (const char *)(seen->data + 1);

	for (uint32_t k = 1; n + k <= seen->data[0]; k++) {
		const uint32_t node = trie_find(d->t, bytes + n, k);

		if (!node)
			break;
		for (uint32_t i = d->t->node[node].first; i < trie_end(d->t, node); i++)
			TRY(add_dependent(d, i));
	}
	return INFER_OK;
}

/* Add the texts that can complete a string element to an earlier one. */
static int add_elements(struct dependents *d, const struct stack_item *top, infer_error *err)
{
	const struct stack_item *seen = top->up->up->side;
	int rc = INFER_OK;
	struct slab_buf b = { .slab = d->slab };
	uint32_t n;
	char *at = element_bytes(d->slab, top->up->side, &n);

	if (!at)
		return err_nomem(err);
	canonical_string_prefix(&b, at, n);
	slab_free(d->slab, at);
	if (b.bad)
		rc = err_nomem(err);
	for (; seen && !rc; seen = seen->up)
		if (seen->data[0] > b.len && !memcmp(seen->data + 1, b.at, b.len))
			rc = add_element(d, seen, (uint32_t)b.len);
	slab_buf_fini(&b);
	return rc;
}

/* Add the tokens of a string element that has few values. */
static int fill_few(struct mask_query *q, const struct trie *t, struct stack_item *top)
{
	struct dependents d = { .t = t, .slab = &q->k->slab, .err = q->err };
	int rc = add_elements(&d, top, q->err), takes;
	uint32_t n = 0;

	/* keep the tokens of other stacks */
	for (uint32_t i = 0; i < d.n && !rc; i++)
		if (!bit_get(q->bits, t->text[d.text[i]].id))
			d.text[n++] = d.text[i];
	if (!rc)
		rc = fill_plain(q, t, top->side, 1);
	for (uint32_t i = 0; i < n && !rc; i++) {
		const struct trie_text *x = t->text + d.text[i];

		rc = check_text(q, x, top, &takes);
		if (!rc && !takes)
			bit_clear(q->bits, x->id);
	}
	slab_free(&q->k->slab, d.text);
	return rc;
}

/* Add the tokens of an element of a unique array.  Tokens with a quote are checked byte by byte; if few
 * values are left also those with a \, since an escape can encode the same character. */
static int fill_element(struct mask_query *q, const struct trie *t, struct stack_item *top)
{
	struct stack_item *text = find_free_text(q, top);
	const struct stack_item *stack = top->side;

	if (t != vocab_trie(q->k->v))
		return fill_exact(q, t, top);
	if (text)
		TRY(fill_plain(q, t, text, 0));
	else if (stack->kind == ITEM_STRING && stack->up->kind == ITEM_HOLE && !stack->data[3])
		TRY(fill_few(q, t, top));
	else
		return fill_exact(q, t, top);
	return fill_exact(q, vocab_quotes(q->k->v, !text), top);
}

/* True if items of this kind have entries. */
static int has_entry(const struct stack_item *top)
{
	return top->kind >= ITEM_VALUE && top->kind < ITEM_HOLE && top->kind != ITEM_CHAR &&
	       top->kind != ITEM_NAME;
}

/* True if only a token by its id can follow. */
static int is_token(const struct grammar *g, const struct stack_item *top)
{
	return top->kind == ITEM_RULE && g->code[top->data[0]].op == OP_TOKEN;
}

/* Add the tokens of the texts of t that one stack accepts. */
int fill_stack(struct mask_query *q, const struct trie *t, struct stack_item *top)
{
	int names = 0, counted = 0, rc;

	TRY(charge_query(q, 1));
	if (is_token(q->k->g, top))
		return INFER_OK;
	if (top->kind == ITEM_DONE && q->m->spaces == MATCH_TIDY)
		return INFER_OK;
	if (top->kind == ITEM_OBJECT || top->kind == ITEM_CLASS_KEY)
		names = has_names(q->k->g, top, &counted);
	if (top->kind == ITEM_ELEMENT)
		return fill_element(q, t, top);
	if (!has_entry(top) || counted || (names && t->twice) || q->depth > DEEP)
		return fill_exact(q, t, top);
	q->depth++;
	rc = fill_top(q, t, top, names);
	q->depth--;
	return rc;
}

static int run_query(struct mask_query *q, const struct match_state *at)
{
	struct mask *k = q->k;
	int rc, some;

	memset(q->bits, 0, k->words * sizeof *q->bits);
	pthread_mutex_lock(&k->lock);
	rc = fill_state(q, vocab_trie(k->v), at);
	mask_free_retired(k);
	pthread_mutex_unlock(&k->lock);
	if (!rc)
		rc = match_wants(q->m, at, q->bits, &some, q->err);
	return rc;
}

int mask_try_fill(struct mask *k, struct match *m, const struct match_state *at, uint64_t *bits,
                  struct budget *left, infer_error *err)
{
	struct mask_query q = { k, m, bits, left, 0, 1, err };

	return run_query(&q, at);
}

int mask_fill(struct mask *k, struct match *m, const struct match_state *at, uint64_t *bits,
              struct budget *left, infer_error *err)
{
	struct mask_query q = { k, m, bits, left, 0, 0, err };
	int rc = run_query(&q, at);

	if (rc)
		memset(bits, 0, k->words * sizeof *bits);
	return rc;
}
