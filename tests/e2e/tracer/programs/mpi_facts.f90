! The same library through the bindings of Fortran, with the old interface and that of 2008.
program mpi_facts
  use mpi_f08
  implicit none
  interface
    subroutine start_cuda() bind(c)
    end subroutine
  end interface
  integer :: rank, sum
  call MPI_Init()
  call start_cuda()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Allreduce(rank, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call old_interface(rank)
  print '(a,i0,a,i0,a)', '{"fact":"sum","rank":', rank, ',"value":', sum, '}'
  call MPI_Finalize()
contains
  subroutine old_interface(rank)
    integer, intent(in) :: rank
    external :: mpi_bcast
    integer :: values(8), error
    values = rank
    call mpi_bcast(values, 8, MPI_INTEGER%MPI_VAL, 1, MPI_COMM_WORLD%MPI_VAL, error)
  end subroutine
end program
