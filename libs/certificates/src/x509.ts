// The library injects its parts by decorators, which need this first.
import 'reflect-metadata';

export * from '@peculiar/x509';
