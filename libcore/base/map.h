/* base/map.h - a hash table from byte strings to u32; keys are borrowed and must outlive the map.
 * Confined while it is filled, immutable afterwards. */
#ifndef BASE_MAP_H
#define BASE_MAP_H
#include <stddef.h>
#include <stdint.h>
#include "base/mem.h"
#include "base/sip.h"

struct map_slot {
	const char *key;
	uint32_t len, hash;
	uint32_t value;
};
struct map {
	struct map_slot *at; /* [mask + 1]; key NULL: empty slot */
	uint32_t mask, count;
	enum mem_module who;
	struct sip_key sip;
};

/* expect: number of entries.  Returns 0 or INFER_ENOMEM. */
int map_init(struct map *m, enum mem_module who, uint32_t expect);
void map_fini(struct map *m);
/* Add a key.  Returns 0, INFER_ENOMEM, or INFER_EINVAL: the key exists and is unchanged. */
int map_put(struct map *m, const char *key, size_t len, uint32_t value);
/* Return a pointer to the value in the map, or NULL. */
const uint32_t *map_get(const struct map *m, const char *key, size_t len);
#endif
