/* ir/sample.c - random texts: a random walk over accepted bytes, then greedy descent by an estimate of
 * the distance to an end. */
#include "ir/sample.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ir/match_step.h"
#include "automata/work.h"

enum { FAR = 1 << 28, TRIES = 24 };

struct sampler {
	struct match *m;
	const struct grammar *g;
	uint64_t seed, draw;
	uint32_t n_drawn;
	int spaced;
	uint32_t *goal, *code; /* estimated bytes of the shortest text of each */
	struct match_state at, next;
	infer_error *err;
};

/* Return a random number below n. */
static uint32_t draw_below(struct sampler *s, uint32_t n)
{
	uint32_t four[4];

	rng_block(four, rng_hash(s->seed, &s->draw, sizeof s->draw), s->n_drawn++);
	return four[0] % n;
}

/* -- distances to an end -------------------------------------------------------------------- */

static uint32_t add_capped(uint32_t a, uint32_t b) { return a + b < FAR ? a + b : FAR; }

/* Return the bytes of the shortest value of the options that meet a need of `adds` (0: of all). */
static uint32_t options_for(const uint32_t *goal, const struct options *o, uint32_t adds)
{
	uint32_t least = FAR;

	for (uint32_t i = 0; i < o->n; i++)
		if ((!adds || (o->at[i].adds & adds)) && goal[o->at[i].goal] < least)
			least = goal[o->at[i].goal];
	return least;
}

static uint32_t options_least(const uint32_t *goal, const struct options *o)
{
	return options_for(goal, o, 0);
}

/* Return the bytes of the shortest element that counter i counts, with its comma. */
static uint32_t counted_least(const uint32_t *goal, const struct array_shape *a, uint32_t i)
{
	const struct options *o = a->item + a->n_prefix;
	uint32_t least = FAR;

	for (uint32_t k = 0; k < o->n; k++)
		if ((o->at[k].adds >> i & 1) && goal[o->at[k].goal] < least)
			least = goal[o->at[k].goal];
	return add_capped(1, least);
}

/* Return the bytes of the missing elements, up to min and up to the minima of the counters. */
static uint32_t items_least(const uint32_t *goal, const struct array_shape *a, uint32_t n,
                            uint32_t c)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < a->n_counters; i++) {
		const struct counter *k = a->counter + i;
		const uint32_t most = k->max == DFA_FOREVER ? k->min : k->max;
		uint32_t have = c / k->stride % (most + 1);

		for (const uint32_t one = counted_least(goal, a, i); have < k->min && sum < FAR;
		     have++)
			sum = add_capped(sum, one);
	}
	for (; n < a->min && sum < FAR; n++)
		sum = add_capped(
			sum,
			1 + options_least(goal, a->item + (n < a->n_prefix ? n : a->n_prefix)));
	return sum;
}

/* Return the bytes of the shortest optional member and comma that meets one of the needs `adds`. */
static uint32_t other_least(const uint32_t *goal, const struct object_shape *o,
                            const uint32_t *seen, uint32_t adds)
{
	uint32_t least = FAR;

	for (uint32_t i = 0; i < o->n_slots + o->n_classes; i++) {
		const int slot = i < o->n_slots;
		const struct key_class *k = o->class + (slot ? 0 : i - o->n_slots);
		const struct options *v = slot ? &o->slot[i].value : &k->value;
		uint32_t n;

		if (slot && ((o->slot[i].required && !adds) || (seen && has_slot(seen, i))))
			continue;
		n = add_capped((slot ? o->slot[i].n : k->names->least[k->names->start]) + 4,
		               options_for(goal, v, adds));
		least = n < least ? n : least;
	}
	return least;
}

/* Return the bytes of the missing members: required ones (seen NULL: all), and up to min and needs. */
static uint32_t members_least(const uint32_t *goal, const struct object_shape *o,
                              const uint32_t *seen, uint32_t n, uint32_t needs)
{
	uint32_t sum = 0, more = (uint32_t)__builtin_popcount(needs);

	for (uint32_t i = 0; i < o->n_slots && sum < FAR; i++)
		if (o->slot[i].required && (!seen || !has_slot(seen, i))) {
			sum = add_capped(sum,
			                 o->slot[i].n + 4 + options_least(goal, &o->slot[i].value));
			n++;
		}
	more = n < o->min && o->min - n > more ? o->min - n : more;
	for (uint32_t one = more ? other_least(goal, o, seen, needs) : 0; more && sum < FAR; more--)
		sum = add_capped(sum, one);
	return sum;
}

/* Return the characters of the shortest string from a state, at least `fewest`. */
static uint32_t string_least(const struct dfa *d, uint32_t state, uint32_t fewest)
{
	const uint32_t n = d->least[state] > fewest ? d->least[state] : fewest;

	return n < FAR ? n : FAR;
}

static uint32_t alt_least(const uint32_t *goal, const struct alt *a)
{
	switch ((enum alt_type)a->type) {
	case ALT_NUMBER:
		return a->text->least[a->text->start];
	case ALT_STRING:
		return add_capped(2, string_least(a->text, a->text->start, a->fewest));
	case ALT_ARRAY:
		return add_capped(2, items_least(goal, a->array, 0, 0));
	case ALT_OBJECT:
		return add_capped(2, members_least(goal, a->object, NULL, 0, a->object->needs));
	case ALT_NULL:
	case ALT_FALSE:
	case ALT_TRUE:
		break;
	}
	return 4;
}

static void goals_least(struct sampler *s)
{
	const struct grammar *g = s->g;

	for (uint32_t i = 0; i < g->n_goals; i++)
		s->goal[i] = FAR;
	for (int more = 1; more;) {
		more = 0;
		for (uint32_t i = g->n_goals; i--;)
			for (uint32_t k = 0; k < g->goal[i].n; k++) {
				const uint32_t n = alt_least(s->goal, g->goal[i].alt + k);

				more |= n < s->goal[i];
				s->goal[i] = n < s->goal[i] ? n : s->goal[i];
			}
	}
}

static uint32_t text_least(const struct dfa *d) { return d->least[d->start]; }

static void code_least(struct sampler *s)
{
	const struct code *c = s->g->code;
	uint32_t *to = s->code;

	for (uint32_t i = 0; i < s->g->n_code; i++)
		to[i] = FAR;
	for (int more = 1; more;) {
		more = 0;
		for (uint32_t i = s->g->n_code; i--;) {
			uint32_t n = 0;

			if (c[i].op == OP_CHAR || c[i].op == OP_BYTE)
				n = add_capped(1, to[i + 1]);
			else if (c[i].op == OP_CALL)
				n = add_capped(to[c[i].a], to[i + 1]);
			else if (c[i].op == OP_VALUE)
				n = add_capped(s->goal[c[i].a], to[i + 1]);
			else if (c[i].op == OP_TOKEN)
				n = FAR;
			else if (c[i].op == OP_TEXT || c[i].op == OP_LEX)
				n = add_capped(text_least(s->g->plain[c[i].a]), to[i + 1]);
			else if (c[i].op != OP_END)
				n = to[c[i].a];
			if (c[i].op == OP_SPLIT && c[i].b != NOWHERE && to[c[i].b] < n)
				n = to[c[i].b];
			more |= n < to[i];
			to[i] = n < to[i] ? n : to[i];
		}
	}
}

/* Return the bytes of the rest of a slot's name and value, minus those counted for the object. */
static int64_t slot_key_far(const struct sampler *s, const struct stack_item *n)
{
	const struct object_shape *o = s->g->object[n->up->data[SHAPE]];
	int64_t least = FAR;

	for (uint32_t i = n->data[0]; i < n->data[1]; i++) {
		const int64_t rest = (int64_t)o->slot[i].n - n->data[2];

		if (has_slot(n->up->data + SEEN, i))
			continue;
		const int64_t value = options_least(s->goal, &o->slot[i].value),
			      far = o->slot[i].required ? rest - o->slot[i].n - 2
		                                        : rest + 2 + value;
		least = far < least ? far : least;
	}
	return least;
}

/* The same for a name of a class, and a need that it may meet. */
static int64_t class_key_far(const struct sampler *s, const struct stack_item *n)
{
	const struct object_shape *o = s->g->object[n->up->data[SHAPE]];
	const struct key_class *k = o->class + n->data[0];
	const uint32_t *seen = n->up->data + SEEN, needs = n->up->data[EXTRA];
	const int64_t name = 3 + (int64_t)k->names->least[n->data[1]],
		      any = name + options_for(s->goal, &k->value, 0);

	if (!needs || options_for(s->goal, &k->value, needs) == FAR)
		return any;
	const int64_t meets = name + options_for(s->goal, &k->value, needs) -
	                      other_least(s->goal, o, seen, needs);

	return meets < any ? meets : any;
}

/* Return the estimated bytes until this item ends. */
static int64_t item_far(const struct sampler *s, const struct stack_item *n)
{
	switch (n->kind) {
	case ITEM_VALUE:
		return s->goal[n->data[0]];
	case ITEM_LITERAL:
		return 5 - (int64_t)n->data[1];
	case ITEM_NUMBER:
		return item_dfa(s->g, n)->least[n->data[2]];
	case ITEM_STRING:
		return 1 +
		       (int64_t)string_least(item_dfa(s->g, n), n->data[2], item_span(n).least) +
		       (n->data[3] != 0);
	case ITEM_SLOT_KEY:
		return slot_key_far(s, n) + (n->data[3] != 0);
	case ITEM_CLASS_KEY:
		return class_key_far(s, n);
	case ITEM_COLON:
		return 1 + (int64_t)s->goal[n->data[0]];
	case ITEM_UNIQUE_ARRAY:
	case ITEM_ARRAY: {
		const struct array_shape *a = s->g->array[n->data[SHAPE]];

		return 1 + (int64_t)items_least(s->goal, a, n->data[COUNT], n->data[EXTRA]);
	}
	case ITEM_OBJECT: {
		const struct object_shape *o = s->g->object[n->data[SHAPE]];
		const int64_t owed =
			members_least(s->goal, o, n->data + SEEN, n->data[COUNT], n->data[EXTRA]);

		if (n->data[WHERE] != AT_NEXT)
			return 1 + owed;
		return owed ? owed : other_least(s->goal, o, n->data + SEEN, 0);
	}
	case ITEM_RULE:
		return s->code[n->data[0]];
	case ITEM_TEXT:
		return s->g->text->least[n->data[0]];
	case ITEM_LEX:
		return (int64_t)lex_dfa(s->g, n)->least[n->data[LEX_STATE]] +
		       s->code[n->data[LEX_PC] + 1];
	case ITEM_SKIP:
		return lex_dfa(s->g, n)->least[n->data[LEX_STATE]];
	default:
		return 0;
	}
}

static int64_t stack_far(const struct sampler *s, const struct stack_item *n)
{
	int64_t far = 0;

	for (; n; n = n->up)
		far += n->kind == ITEM_ELEMENT ? stack_far(s, n->side) : item_far(s, n);
	return far;
}

static int64_t state_far(const struct sampler *s, const struct match_state *at)
{
	int64_t least = INT64_MAX;

	for (uint32_t i = 0; i < at->n; i++) {
		const int64_t far = stack_far(s, at->top[i]);

		least = far < least ? far : least;
	}
	return least;
}

/* -- the walk ------------------------------------------------------------------------------- */

static uint8_t propose_byte(struct sampler *s)
{
	static const char letters[] = "eeeaaiiouy tnshrdlcmfgpwbvk", marks[] = "-_.:/@+,'!?",
			  outside[] = "{}[]\"\",,:00123456789-.tfn";
	const struct stack_item *top = s->at.top[0];

	if (s->g->code || s->g->text)
		return (uint8_t)(32 + draw_below(s, 95));
	if (!item_is_in_string(top))
		return (uint8_t)outside[draw_below(s, sizeof outside - 1)];
	switch (draw_below(s, 16)) {
	case 0:
	case 1:
		return (uint8_t)('0' + draw_below(s, 10));
	case 2:
		return (uint8_t)('A' + draw_below(s, 26));
	case 3:
		return '"';
	case 4:
		return (uint8_t)marks[draw_below(s, sizeof marks - 1)];
	case 5:
		return draw_below(s, 400) ? (uint8_t)(0xc3 + draw_below(s, 0x2f)) : '\\';
	default:
		return (uint8_t)letters[draw_below(s, sizeof letters - 1)];
	}
}

static int try_byte(struct sampler *s, uint8_t byte, int *live)
{
	TRY(match_copy(s->m, &s->next, &s->at, s->err));
	TRY(match_byte(s->m, &s->next, byte, s->err));
	*live = match_live(&s->next);
	return INFER_OK;
}

/* Make s->next the current state. */
static void advance_state(struct sampler *s)
{
	const struct match_state was = s->at;

	s->at = s->next;
	s->next = was;
}

/* True for white space outside of strings: it is added on purpose only. */
static int is_space(const struct sampler *s, uint8_t b)
{
	return !s->g->code && !s->g->text && !item_is_in_string(s->at.top[0]) &&
	       (b == ' ' || b == '\n' || b == '\t' || b == '\r');
}

/* Choose an accepted byte at random, or while ending among those nearest to an end; -1: none. */
static int choose_byte(struct sampler *s, int ending, int *byte)
{
	uint8_t set[256];
	int64_t least = INT64_MAX;
	uint32_t n = 0;
	int live;

	for (int i = 0; i < TRIES && !ending; i++) {
		*byte = propose_byte(s);
		TRY(try_byte(s, (uint8_t)*byte, &live));
		if (live)
			return INFER_OK;
	}
	for (int i = 0; i < 256; i++) {
		const int b = (i + 'a') % 256;
		int64_t far = 0;

		/* escapes are rare */
		if (is_space(s, (uint8_t)b) || (b == '\\' && n && !ending && draw_below(s, 16)))
			continue;
		TRY(try_byte(s, (uint8_t)b, &live));
		if (!live)
			continue;
		if (ending)
			far = state_far(s, &s->next);
		n = far < least ? 0 : n;
		least = far < least ? far : least;
		if (far == least)
			set[n++] = (uint8_t)b;
	}
	*byte = n ? set[draw_below(s, n)] : -1;
	return n ? try_byte(s, (uint8_t)*byte, &live) : INFER_OK;
}

static int draw_text(struct sampler *s, uint32_t length, struct buf *out)
{
	for (uint32_t n = 0; n < SAMPLE_MOST; n++) {
		const int end = match_may_end(s->m, &s->at);
		int byte, live = 0;

		if (end && (n >= length || !draw_below(s, 4)))
			return INFER_OK;
		if (n && s->spaced && is_space(s, ' ') &&
		    (out->at[out->len - 1] == ',' || out->at[out->len - 1] == ':')) {
			TRY(try_byte(s, byte = ' ', &live));
		}
		if (!live)
			TRY(choose_byte(s, n >= length, &byte));
		if (byte < 0 && end)
			return INFER_OK;
		if (byte < 0)
			break;
		advance_state(s);
		buf_putc(out, (char)byte);
	}
	return err_set(s->err, INFER_EUNSUP, "no text with an end was found");
}

int match_sample(struct match *m, uint64_t seed, uint64_t draw, uint32_t length, struct buf *out,
                 infer_error *err)
{
	struct sampler s = { .m = m, .g = m->g, .seed = seed, .draw = draw, .err = err };
	uint32_t *lengths;
	int rc;

	if (ir_is_none(m->g))
		return err_set(err, INFER_EEMPTY, "nothing satisfies the constraint");
	lengths = mem_alloc(MEM_GRAMMAR, (size_t)m->g->n_goals + m->g->n_code + 1, sizeof *lengths);
	if (!lengths)
		return err_nomem(err);
	s.goal = lengths;
	s.code = lengths + m->g->n_goals;
	goals_least(&s);
	code_least(&s);
	s.spaced = (int)draw_below(&s, 2);
	rc = match_begin(m, &s.at, err);
	if (!rc)
		rc = draw_text(&s, length, out);
	match_drop(m, &s.at);
	match_drop(m, &s.next);
	mem_free(lengths);
	if (!rc && out->bad)
		rc = err_nomem(err);
	return rc;
}
