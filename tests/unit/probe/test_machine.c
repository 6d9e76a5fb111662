/* tests/unit/probe/test_machine.c - descriptions of machines: the library, files, what is refused, and
 * records that are read back. */
#include <infer/machine.h>
#include "base/jwrite.h"
#include "../nth.h"
#include <stdio.h>
#include <string.h>

static int read_text(struct infer_machine *m, const char *text, infer_error *err)
{
	return infer_machine_read(m, text, strlen(text), "m.yaml", err);
}

/* Every part of the library is a machine whose figures have sources. */
static int case_library(void)
{
	struct infer_machine m;
	char name[32];
	int n = 0, rc = INFER_OK;

	for (; infer_machine_name(n, name); n++) {
		nth_ok(infer_machine_find(&m, name, NULL));
		assert_false(m.measured);
		assert_true(m.n_sources > 1);
		for (int i = 0; i < m.n_sources; i++)
			assert_true(strstr(m.sources[i].from, "https://") ||
			            !strcmp(m.sources[i].figure, "memory_bytes"));
	}
	assert_true(n >= 90);
out:
	return rc;
}

static int case_several(void)
{
	struct infer_machine m;
	int rc;

	nth_ok(infer_machine_find(&m, "epyc-9654+rtx-4090*2", NULL));
	assert_string_equal(m.name, "AMD EPYC 9654");
	assert_int_equal(m.threads, 96);
	assert_true(m.memory_gb_s == 460.8);
	assert_int_equal(m.gpu.count, 2);
	assert_int_equal(m.gpu.memory_bytes, (uint64_t)24 << 30);
	nth_ok(infer_machine_find(&m, "gb200", NULL));
	assert_int_equal(m.gpu.count, 2);
out:
	return rc;
}

/* A name as a person types it, the part of the library, and its name in words. */
static int case_typed(void)
{
	static const struct {
		const char *typed, *is;
	} rows[] = {
		{ "rtx4090", "NVIDIA GeForce RTX 4090" },
		{ "4090", "NVIDIA GeForce RTX 4090" },
		{ "RTX-4090", "NVIDIA GeForce RTX 4090" },
		{ "GeForce RTX 4090", "NVIDIA GeForce RTX 4090" },
		{ "NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 4090" },
		{ "h-100", "NVIDIA H100 SXM" },
		{ "H100 SXM", "NVIDIA H100 SXM" },
		{ "m3max", "Apple M3 Max, 40 GPU cores" },
		{ "Apple M3 Max", "Apple M3 Max, 40 GPU cores" },
		{ "4060ti16gb", "NVIDIA GeForce RTX 4060 Ti 16 GB" },
		{ "7900 XTX", "AMD Radeon RX 7900 XTX" },
		{ "i9-13900K", "Intel Core i9-13900K, DDR5-6400" },
		{ "9950x", "AMD Ryzen 9 9950X, DDR5-5600" },
		{ "Raspberry Pi 5", "Raspberry Pi 5, 8 GB" },
		{ "pi-5", "Raspberry Pi 5, 8 GB" },
		{ "tesla t4", "NVIDIA T4" },
		{ "Graviton3", "AWS Graviton3, 64 cores" },
	};
	struct infer_machine m;
	int rc;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		nth_ok(infer_machine_find(&m, rows[i].typed, NULL));
		if (strcmp(m.name, rows[i].is) != 0)
			fail_msg("%s: %s", rows[i].typed, m.name);
	}
	nth_ok(infer_machine_find(&m, "EPYC 9654+4090*2", NULL));
	assert_int_equal(m.gpu.count, 2);
	nth_ok(infer_machine_find(&m, "2x RTX 4090", NULL));
	assert_int_equal(m.gpu.count, 2);
	nth_ok(infer_machine_find(&m, "EPYC 9654+8xH100", NULL));
	assert_int_equal(m.gpu.count, 8);
	nth_ok(infer_machine_find(&m, "3 x 7900 XTX", NULL));
	assert_int_equal(m.gpu.count, 3);
out:
	return rc;
}

static int case_refused(void)
{
	static const struct {
		const char *name, *says;
	} names[] = {
		{ "h101", "'h101' is not a machine of the library; did you mean h100" },
		{ "", "'' is not a machine" },
		{ "90", "'90' is not a machine" },
		{ "max", "'max' is not a machine" },
		{ "rtx-4091", "did you mean rtx-4090" },
		{ "raspberry pi", "did you mean raspberry-pi-5" },
		{ "macbook pro m3 max", "did you mean m3-max" },
		{ "my box with an rtx 4090", "did you mean rtx-4090" },
		{ "2x h101", "'h101' is not a machine of the library; did you mean h100" },
		{ "0x h100", "must be from 1 to 1024" },
		{ "2x", "'2x' is not a machine" },
		{ "2x h100*2", "a number before the name or * after it, not both" },
		{ "2x epyc-9654", "only accelerators can have a number" },
		{ "quantum computer", "'quantum computer' is not a machine of the library: infer" },
		{ "h100*0", "* must be followed by a number" },
		{ "h100*2x", "* must be followed by a number" },
		{ "epyc-9654*2", "only accelerators can have a number" },
		{ "m1-max*2", "only accelerators can have a number" },
		{ "rtx-4090+epyc-9654", "a host + accelerators of one kind" },
		{ "epyc-9654+rtx-4090+a100", "a host + accelerators of one kind" },
	};
	static const struct {
		const char *text, *says;
	} texts[] = {
		{ "", "m.yaml: line 1, column 1: the description is empty" },
		{ "- 1", "m.yaml: line 1, column 1" },
		{ "name: x", "needs memory_bytes and memory_gb_s" },
		{ "memory_bytes: 1\nmemory_gb_s: 1", "needs the key name" },
		{ "name: x\nmemory_bytes: -1", "line 2" },
		{ "name: x\nmemory_gb_s: fast", "line 2" },
		{ "name: x\nbandwidth: 1", "line 2, column 1: 'bandwidth' is not a figure" },
		{ "name: x\ngpu: {name: y, memory_bytes: 1}", "a gpu needs memory_bytes" },
		{ "name: x\ngpu: {speed: 1}", "'speed' is not a figure of a machine" },
		{ "name: x\ndecode_part: 1.5", "line 2" },
		{ "name: x\nloops: [{type: Q9, rows: [1, 2, 3, 4]}]", "'Q9' is not a type" },
		{ "name: x\nloops: [{type: Q8_0, rows: [1, 2]}]",
		  "rows must be a list of 4 numbers" },
		{ "name: x\nread: [{threads: 1}]", "needs threads and gb_s" },
	};
	struct infer_machine m;
	infer_error err;
	int rc = INFER_OK;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		nth_fails(infer_machine_find(&m, names[i].name, &err), INFER_EINVAL);
		if (!strstr(err.message, names[i].says))
			fail_msg("%s: %s", names[i].name, err.message);
	}
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		nth_fails(read_text(&m, texts[i].text, &err), INFER_EFORMAT);
		if (!strstr(err.message, texts[i].says))
			fail_msg("%s: %s", texts[i].text, err.message);
	}
out:
	return rc;
}

/* What is written is read as it was. */
static int case_back(void)
{
	struct infer_machine a = { .name = "a \"b\"",
		                   .measured = 1,
		                   .threads = 4,
		                   .memory_bytes = 123456789012,
		                   .memory_gb_s = 50.5,
		                   .n_read = 2,
		                   .gpu = { .name = "g",
		                            .count = 2,
		                            .memory_bytes = 5,
		                            .memory_gb_s = 7 } },
			     b;
	struct jwrite w;
	struct buf t;
	int rc;

	a.read[0].threads = 1;
	a.read[0].gb_s = 25.25;
	a.read[1].threads = 4;
	a.read[1].gb_s = 50.5;
	a.slots[3] = 0.5;
	for (int i = 0; i < 4; i++)
		a.loops[INFER_Q4_K].rows[i] = i + 1;
	a.loops[INFER_Q4_K].tile[2] = 700;
	a.attn[INFER_F16].cached[1] = 9;
	a.attn[INFER_F16].cached[0] = 8;
	a.attn[INFER_F16].block_ns[2] = 7;
	a.attn[INFER_F16].put = 6;
	a.seq_ns = 5;
	buf_init(&t, MEM_BASE);
	jw_init(&w, &t);
	jw_object(&w, NULL);
	jw_object(&w, "measured");
	infer_machine_write(&a, &w);
	jw_end(&w);
	jw_end(&w);
	nth_need(!t.bad);
	nth_ok(infer_machine_read(&b, t.at, t.len, "back", NULL));
	assert_memory_equal(&a, &b, sizeof a);
out:
	buf_fini(&t);
	return rc;
}

static int case_measure(void)
{
	struct infer_machine m;
	int rc;

	nth_ok(infer_machine_measure(&m, 0, NULL, NULL));
	assert_true(m.measured && m.threads > 0 && m.n_read > 0);
	assert_true(m.memory_gb_s > 0 && m.huge_gb_s > 0 && m.cached_gb_s > 0);
	assert_true(m.f32_gflop_s > 0 && m.i8_gop_s > 0 && m.sample_ns > 0);
	assert_true(m.read[0].threads == 1 && m.read[m.n_read - 1].threads == m.threads);
	assert_true(m.disk_gb_s == 0 && m.loops[INFER_F32].rows[0] == 0);
out:
	return rc;
}

static void test_measure(void **state)
{
	(void)state;
	assert_int_equal(case_measure(), INFER_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_library), nth_case(case_several), nth_case(case_typed),
		nth_case(case_refused), nth_case(case_back),    cmocka_unit_test(test_measure)
	};
	return nth_group(tests);
}
