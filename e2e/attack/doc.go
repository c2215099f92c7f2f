// Package attack tries to stop, fill, open or steer a running Loci the way a hostile or
// careless user would, and logs what the others notice. The scripts are bounded and stay
// on loopback. They take minutes, so they run only with LOCI_ATTACK=1 (make attack).
package attack
