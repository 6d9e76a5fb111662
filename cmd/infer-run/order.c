/* infer-run/order.c - a reorder buffer: a ring of slots. */
#include "order.h"
#include "base/err.h"
#include "base/mem.h"

enum { FIRST_CAP = 64 };

void order_init(struct order *o, size_t most, size_t most_bytes)
{
	*o = (struct order){ .most = most, .most_bytes = most_bytes };
}

void order_fini(struct order *o)
{
	mem_free(o->slot);
	*o = (struct order){ 0 };
}

static struct order_slot *slot_of(const struct order *o, uint64_t ticket)
{
	return &o->slot[ticket % o->cap];
}

static int grow_ring(struct order *o)
{
	struct order more = *o;

	more.cap = o->cap ? 2 * o->cap : FIRST_CAP;
	more.slot = mem_zalloc(MEM_BASE, more.cap, sizeof *more.slot);
	if (!more.slot)
		return INFER_ENOMEM;
	for (uint64_t t = o->first; t < o->next; t++)
		*slot_of(&more, t) = *slot_of(o, t);
	mem_free(o->slot);
	*o = more;
	return INFER_OK;
}

int order_take(struct order *o, uint64_t *ticket)
{
	if (o->next - o->first == o->cap)
		TRY(grow_ring(o));
	*ticket = o->next++;
	return INFER_OK;
}

void order_put(struct order *o, uint64_t ticket, void *what, size_t bytes)
{
	must(ticket >= o->first && ticket < o->next && what && !slot_of(o, ticket)->what);
	*slot_of(o, ticket) = (struct order_slot){ what, bytes };
	o->waiting++;
	o->bytes += bytes;
}

void *order_next(struct order *o)
{
	struct order_slot s = { 0 };

	if (o->first < o->next)
		s = *slot_of(o, o->first);
	if (!s.what)
		return NULL;
	*slot_of(o, o->first++) = (struct order_slot){ 0 };
	o->waiting--;
	o->bytes -= s.bytes;
	return s.what;
}

int order_full(const struct order *o) { return o->waiting >= o->most || o->bytes >= o->most_bytes; }
