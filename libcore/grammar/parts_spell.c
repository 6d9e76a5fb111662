/* grammar/parts_spell.c - values of a schema in formats other than JSON. */
#include "base/buf.h"
#include "base/err.h"
#include "grammar/parts_tree.h"
#include "schema/schema.h"
#include "automata/regex.h"

#include <string.h>

enum { MOST_DEPTH = 100, MOST_STATES = 1 << 14, MOST_NAME = 120 };

struct spell {
	struct parts *p;
	const char *what;
	const struct part_spelling *top;
	uint32_t depth;
};

static uint32_t refuse_spelling(struct spell *s, const char *why)
{
	return parts_refuse(s->p, INFER_EUNSUP, "%s: %s", s->what, why);
}

/* a part that no text satisfies */
static uint32_t no_text(struct parts *p) { return parts_sequence(p, 1, parts_one_of(p, NULL, 0)); }

static uint32_t spell_goal(struct spell *s, uint32_t goal, const struct part_spelling *how);

/* -- plain values --------------------------------------------------------------------------- */

static const struct dfa *strings_of(const struct parts *p, uint32_t goal)
{
	const struct goal *g = p->g->goal + goal;

	for (uint32_t k = 0; k < g->n; k++)
		if (g->alt[k].type == ALT_STRING)
			return g->alt[k].text;
	return NULL;
}

static int has_null(const struct parts *p, uint32_t goal)
{
	const struct goal *g = p->g->goal + goal;

	for (uint32_t k = 0; k < g->n; k++)
		if (g->alt[k].type == ALT_NULL)
			return 1;
	return 0;
}

static uint32_t enclose(struct parts *p, const char *const by[2], uint32_t of)
{
	return of ? parts_sequence(p, 3, parts_string(p, by[0]), of, parts_string(p, by[1]))
	          : PART_NONE;
}

/* the texts of d that match the pattern, or with `not` those that do not */
static uint32_t match_pattern(struct parts *p, const struct dfa *d, const char *pattern, int not )
{
	struct dfa *w, *some = NULL, *rest = NULL;
	int rc;

	if (p->rc)
		return PART_NONE;
	rc = regex_dfa(&w, pattern, strlen(pattern), REGEX_WHOLE, p->w.left, p->w.err);
	if (!rc) {
		rc = dfa_minus(&rest, d, w, p->w.left, p->w.err);
		dfa_drop(w, p->w.left);
	}
	if (rc || not )
		return piece_plain(p, rc, rest, 0);
	rc = dfa_minus(&some, d, rest, p->w.left, p->w.err);
	dfa_drop(rest, p->w.left);
	return piece_plain(p, rc, some, 0);
}

static uint32_t spell_raw(struct parts *p, uint32_t goal, const struct part_spelling *how)
{
	const struct dfa *d = strings_of(p, goal);
	uint32_t plain;

	if (!d)
		return no_text(p);
	if (!how->special)
		return enclose(p, how->raw, piece_borrowed(p, d, 0));
	plain = enclose(p, how->raw, match_pattern(p, d, how->special, 1));
	return how->marked[0]
	               ? parts_either(p, 2, plain,
	                              enclose(p, how->marked, match_pattern(p, d, how->special, 0)))
	               : plain;
}

static uint32_t spell_raw_or_null(struct parts *p, uint32_t goal, const struct part_spelling *how)
{
	static const char words[] = "\\s*(?:null|True|False|None)\\s*";
	const struct dfa *d = strings_of(p, goal);
	uint32_t text = no_text(p), null;
	struct buf either;

	if (!text)
		return PART_NONE;
	buf_init(&either, MEM_GRAMMAR);
	if (how->special)
		buf_printf(&either, "%s|%s", words, how->special);
	else
		buf_puts(&either, words);
	if (either.bad)
		text = piece_fail(p, err_nomem(p->w.err));
	else if (d)
		text = enclose(p, how->raw, match_pattern(p, d, either.at, 1));
	buf_fini(&either);
	if (d && how->special && how->marked[0])
		text = parts_either(p, 2, text,
		                    enclose(p, how->marked, match_pattern(p, d, how->special, 0)));
	null = has_null(p, goal) ? enclose(p, how->raw, parts_string(p, "null")) : PART_NONE;
	return null ? parts_either(p, 2, text, null) : text;
}

uint32_t piece_of_types(struct parts *p, uint32_t goal, uint32_t types)
{
	struct goal like = { 0 }, *g;
	struct grammar *to = p->g;
	int rc = p->rc;

	if (!rc)
		rc = work_alloc(&p->w, &like.alt, (uint64_t)to->goal[goal].n + 1, sizeof *like.alt);
	if (!rc)
		rc = work_grow(&p->w, &to->goal, &to->cap_goals, to->n_goals + 1, sizeof *to->goal);
	if (rc)
		return piece_fail(p, rc);
	g = to->goal + goal;
	for (uint32_t k = 0; k < g->n; k++)
		if (types >> g->alt[k].type & 1)
			like.alt[like.n++] = g->alt[k];
	to->goal[to->n_goals] = like;
	return piece_add(p, &(struct piece){ .kind = PIECE_VALUE, .a = to->n_goals++ });
}

static uint32_t spell_json(struct parts *p, uint32_t goal)
{
	return piece_add(p, &(struct piece){ .kind = PIECE_VALUE, .a = goal });
}

static uint32_t spell_typed(struct parts *p, uint32_t goal, const struct part_spelling *how)
{
	static const uint32_t types[] = { UINT32_C(1) << ALT_NULL,
		                          UINT32_C(1) << ALT_FALSE | UINT32_C(1) << ALT_TRUE,
		                          UINT32_C(1) << ALT_NUMBER, UINT32_C(1) << ALT_ARRAY,
		                          UINT32_C(1) << ALT_OBJECT };
	uint32_t any = spell_raw(p, goal, how);

	if (!how->typed[0])
		return parts_either(p, 2, any,
		                    enclose(p, how->json,
		                            piece_of_types(p, goal, ~(UINT32_C(1) << ALT_STRING))));
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		const char *const by[] = { how->typed[i], how->json[1] };

		any = parts_either(p, 2, any, enclose(p, by, piece_of_types(p, goal, types[i])));
	}
	return any;
}

static uint32_t spell_member_value(struct spell *s, uint32_t goal, const struct part_spelling *how,
                                   const struct slot *slot)
{
	struct parts *p = s->p;

	switch (how->value ? how->value(how->user, slot->name, slot->n) : PART_SPELLED) {
	case PART_JSON:
		return enclose(p, how->json, spell_json(p, goal));
	case PART_RAW:
		return spell_raw(p, goal, how);
	case PART_RAW_OR_NULL:
		return spell_raw_or_null(p, goal, how);
	case PART_TYPED:
		return spell_typed(p, goal, how);
	case PART_SPELLED:
		break;
	}
	return spell_goal(s, goal, how->nested ? how->nested : how);
}

/* -- objects -------------------------------------------------------------------------------- */

static int is_bare_name(const struct slot *slot)
{
	for (uint32_t i = 0; i < slot->n; i++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.",
		            slot->name[i]) ||
		    !slot->name[i])
			return 0;
	return slot->n > 0;
}

/* a name without quotes; it must not contain the text that ends it */
static uint32_t spell_plain_name(struct spell *s, const struct part_spelling *how,
                                 const struct slot *slot)
{
	for (uint32_t i = 0; i < slot->n; i++)
		if ((unsigned char)slot->name[i] < 0x20 ||
		    strchr("\"'\\<>()[]{},:=", slot->name[i]) ||
		    (slot->name[i] == ' ' && (!how->value || !i || i + 1 == slot->n)))
			return refuse_spelling(
				s, "a name of a parameter that this format cannot write");
	if (!slot->n || slot->n > MOST_NAME)
		return refuse_spelling(s, "a name of a parameter that this format cannot write");
	return parts_text(s->p, slot->name, slot->n);
}

static uint32_t spell_name(struct spell *s, const struct part_spelling *how,
                           const struct slot *slot)
{
	struct parts *p = s->p;
	const char *const quotes[] = { how->quote, how->quote };
	uint32_t it = PART_NONE;

	if (how == s->top || how->after[0])
		return enclose(p, how->name, spell_plain_name(s, how, slot));
	if (how->bare && is_bare_name(slot))
		return enclose(p, how->name, parts_text(p, slot->name, slot->n));
	if (!how->escapes || !memchr(slot->name, '"', slot->n))
		it = parts_text(p, slot->name, slot->n);
	else
		return refuse_spelling(s, "a name with a quotation mark, in this format");
	return enclose(p, how->name, enclose(p, quotes, it));
}

struct members {
	const struct part_spelling *how;
	const struct object_shape *o;
	const struct slot **by_rank;
	uint32_t most;   /* members are counted up to this number */
	uint32_t *state; /* [n_slots + 1][most + 1] the part for slot i on, after k members */
};

static uint32_t spell_member(struct spell *s, const struct members *m, const struct slot *slot,
                             uint32_t count)
{
	struct parts *p = s->p;
	uint32_t any = PART_NONE;

	for (uint32_t i = 0; i < slot->value.n; i++) {
		const uint32_t one = spell_member_value(s, slot->value.at[i].goal, m->how, slot);

		any = any ? parts_either(p, 2, any, one) : one;
	}
	if (!any)
		return no_text(p);
	if (m->how->after[0])
		any = parts_sequence(p, 2, any,
		                     enclose(p, m->how->after, spell_plain_name(s, m->how, slot)));
	return parts_sequence(p, 3, parts_string(p, count ? m->how->comma : ""),
	                      spell_name(s, m->how, slot), any);
}

/* the members from slot i on, after `count` members */
static uint32_t spell_members_from(struct spell *s, const struct members *m, uint32_t i,
                                   uint32_t count)
{
	const uint32_t width = m->most + 1, next = count < m->most ? count + 1 : count;
	const struct slot *slot = m->by_rank[i];
	const uint32_t *after = m->state + (size_t)(i + 1) * width;
	struct parts *p = s->p;
	uint32_t with;

	if (m->o->max != DFA_FOREVER && count >= m->o->max)
		with = no_text(p);
	else
		with = parts_sequence(p, 2, spell_member(s, m, slot, count),
		                      parts_shared(p, after[next]));
	return slot->required ? with : parts_either(p, 2, with, parts_shared(p, after[count]));
}

static int sort_slots(struct parts *p, struct members *m)
{
	TRY(work_alloc(&p->tree, &m->by_rank, (uint64_t)m->o->n_slots + 1, sizeof *m->by_rank));
	TRY(work_steps(&p->tree, (uint64_t)m->o->n_slots * m->o->n_slots / 4));
	for (uint32_t i = 0; i < m->o->n_slots; i++) {
		uint32_t k = i;

		for (; k && m->by_rank[k - 1]->rank > m->o->slot[i].rank; k--)
			m->by_rank[k] = m->by_rank[k - 1];
		m->by_rank[k] = m->o->slot + i;
	}
	return work_alloc(&p->tree, &m->state, ((uint64_t)m->o->n_slots + 1) * (m->most + 1),
	                  sizeof *m->state);
}

/* True if members without a property of their own are possible. */
static int has_others(const struct parts *p, const struct object_shape *o)
{
	for (uint32_t k = 0; k < o->n_classes; k++)
		for (uint32_t i = 0; i < o->class[k].value.n; i++)
			if (p->g->goal[o->class[k].value.at[i].goal].n)
				return 1;
	return 0;
}

static uint32_t spell_object(struct spell *s, const struct object_shape *o,
                             const struct part_spelling *how)
{
	struct members m = { .how = how, .o = o };
	struct parts *p = s->p;
	uint32_t first;
	int rc;

	if (o->needs)
		return refuse_spelling(s, "a condition on some member, in this format");
	if (how == s->top && has_others(p, o))
		return refuse_spelling(s, "parameters without a name of their own, in this format");
	m.most = o->min > 1 ? o->min : 1;
	if (o->max != DFA_FOREVER && o->max > m.most)
		m.most = o->max;
	if (m.most > o->n_slots)
		m.most = o->n_slots + 1;
	if ((uint64_t)(o->n_slots + 1) * (m.most + 1) > MOST_STATES)
		return refuse_spelling(s, "too many properties for this format");
	rc = sort_slots(p, &m);
	if (rc)
		return piece_fail(p, rc);
	for (uint32_t k = 0; k <= m.most; k++)
		m.state[(size_t)o->n_slots * (m.most + 1) + k] =
			k < o->min ? no_text(p) : parts_string(p, how->object[1]);
	for (uint32_t i = o->n_slots; i--;)
		for (uint32_t k = 0; k <= m.most && k <= i; k++)
			m.state[(size_t)i * (m.most + 1) + k] = spell_members_from(s, &m, i, k);
	first = m.state[0];
	return first ? parts_sequence(p, 2, parts_string(p, how->object[0]), parts_shared(p, first))
	             : PART_NONE;
}

/* -- arrays --------------------------------------------------------------------------------- */

static uint32_t spell_item(struct spell *s, const struct array_shape *a, uint32_t i,
                           const struct part_spelling *how)
{
	const struct options *o = a->item + (i < a->n_prefix ? i : a->n_prefix);
	struct parts *p = s->p;
	uint32_t any = PART_NONE;

	for (uint32_t k = 0; k < o->n; k++) {
		const uint32_t one = spell_goal(s, o->at[k].goal, how);

		any = any ? parts_either(p, 2, any, one) : one;
	}
	if (any && how->item[0])
		any = enclose(p, how->item, any);
	return any ? parts_sequence(p, 2, parts_string(p, i ? how->comma : ""), any) : no_text(p);
}

static uint32_t spell_array(struct spell *s, const struct array_shape *a,
                            const struct part_spelling *how)
{
	uint32_t last = a->n_prefix > a->min ? a->n_prefix : a->min, rest;
	struct parts *p = s->p;

	if (a->n_counters)
		return refuse_spelling(s, "contains, in this format");
	if (a->unique)
		return refuse_spelling(s, "uniqueItems, in this format");
	last = last ? last : 1;
	if (a->max != DFA_FOREVER)
		last = a->max;
	if (last > MOST_STATES / 4)
		return refuse_spelling(s, "too many elements for this format");
	rest = parts_string(p, how->list[1]);
	if (a->max == DFA_FOREVER)
		rest = parts_sequence(
			p, 2, parts_repeat(p, spell_item(s, a, last, how), 0, DFA_FOREVER), rest);
	for (uint32_t i = last; i--;) {
		rest = parts_sequence(p, 2, spell_item(s, a, i, how), parts_shared(p, rest));
		if (i >= a->min)
			rest = parts_either(p, 2, rest, parts_string(p, how->list[1]));
	}
	return parts_sequence(p, 2, parts_string(p, how->list[0]), rest);
}

/* -- all ------------------------------------------------------------------------------------ */

/* strings that a reader without a schema could parse as JSON or would trim */
static const char like_json[] =
	"\\s[\\s\\S]*|[-0-9\"{\\[][\\s\\S]*|(?:null|true|false|None|True|False)\\s*|";

static uint32_t spell_alt(struct spell *s, const struct alt *a, const struct part_spelling *how)
{
	const char *const quotes[] = { how->quote, how->quote };
	struct parts *p = s->p;

	switch ((enum alt_type)a->type) {
	case ALT_NULL:
	case ALT_FALSE:
	case ALT_TRUE:
		return how->word[a->type] ? parts_string(p, how->word[a->type]) : no_text(p);
	case ALT_NUMBER:
		return piece_borrowed(p, a->text, 0);
	case ALT_STRING:
		return enclose(p, quotes,
		               how->untyped == PART_NOT_LIKE_JSON
		                       ? match_pattern(p, a->text, like_json, 1)
		                       : piece_borrowed(p, a->text, how->escapes));
	case ALT_ARRAY:
		return spell_array(s, a->array, how);
	case ALT_OBJECT:
		break;
	}
	return spell_object(s, a->object, how);
}

static uint32_t spell_alts(struct spell *s, uint32_t goal, const struct part_spelling *how,
                           int objects)
{
	struct parts *p = s->p;
	const int only_string = how->untyped && !objects && strings_of(p, goal);
	uint32_t any = PART_NONE;

	for (uint32_t k = 0; k < p->g->goal[goal].n && !p->rc; k++) {
		const struct alt a = p->g->goal[goal].alt[k];

		if ((objects && a.type != ALT_OBJECT) || (only_string && a.type != ALT_STRING))
			continue;
		const uint32_t one = spell_alt(s, &a, how);

		any = any ? parts_either(p, 2, any, one) : one;
	}
	return any ? any : no_text(p);
}

/* the values of a goal; each goal is built once, since it may be recursive */
static uint32_t spell_goal(struct spell *s, uint32_t goal, const struct part_spelling *how)
{
	struct parts *p = s->p;
	uint32_t it, is;
	int rc = p->rc;

	for (uint32_t i = 0; i < p->n_spelled; i++)
		if (p->spelled[i].goal == goal && p->spelled[i].how == how)
			return parts_shared(p, p->spelled[i].part);
	if (s->depth == MOST_DEPTH)
		return refuse_spelling(s, "values that are nested too deeply for this format");
	it = no_text(p);
	if (!rc)
		rc = work_grow(&p->tree, &p->spelled, &p->cap_spelled, p->n_spelled + 1,
		               sizeof *p->spelled);
	if (rc || !it)
		return piece_fail(p, rc);
	p->spelled[p->n_spelled++] = (struct spelled){ goal, it, how };
	s->depth++;
	is = spell_alts(s, goal, how, 0);
	s->depth--;
	if (!is)
		return PART_NONE;
	*p->piece[it].kid = is;
	return parts_shared(p, it);
}

/* Set *out to the strings and names that can be spelled. */
static int find_spellable(struct parts *p, const struct part_spelling *how, struct dfa **out)
{
	struct dfa *end, *no;
	int rc;

	if (how->escapes)
		return regex_dfa(out, "[^\\\\]*", 6, REGEX_WHOLE, p->w.left, p->w.err);
	if (!how->end)
		return dfa_all(out, p->w.left, p->w.err);
	TRY(parts_contain(p, &end, how->end));
	rc = dfa_not(&no, end, p->w.left, p->w.err);
	dfa_drop(end, p->w.left);
	*out = no;
	return rc;
}

uint32_t parts_spelled(struct parts *p, const struct json *schema, const struct schema_opts *opts,
                       const struct part_spelling *how, const char *what)
{
	struct schema_opts o = opts ? *opts : (struct schema_opts){ 0 };
	struct spell s = { p, what, how, 0 };
	struct dfa *may = NULL;
	uint32_t goal = 0;
	int rc = p->rc;

	if (!rc)
		rc = find_spellable(p, how, &may);
	if (rc)
		return piece_fail(p, rc);
	o.ordered = 1;
	o.strings = may;
	rc = schema_goal_of(p->g, &p->w, schema, &o, &goal);
	dfa_drop(may, p->w.left);
	return rc ? piece_fail(p, rc) : spell_alts(&s, goal, how, 1);
}
