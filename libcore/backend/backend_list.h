/* backend/backend_list.h - BACKEND(folder); cpu, which every build has, is first. */
BACKEND(cpu)
#ifdef BACKEND_cuda
BACKEND(cuda)
#endif
