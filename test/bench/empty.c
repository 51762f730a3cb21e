// The least that a process costs: what VERSION is compared with.
int main(void)
{
	return 0;
}
