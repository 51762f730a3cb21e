// The least that a process costs. VERSION is compared with it.
int main(void)
{
	return 0;
}
