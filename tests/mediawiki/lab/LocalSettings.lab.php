<?php
// Settings of the lab wiki: as near to en.wikipedia.org as Debian's MediaWiki allows. Every path is relative to this file.
if ( !defined( 'MEDIAWIKI' ) ) { exit; }
$lab = __DIR__;
$wgSitename = 'Wikipedia'; $wgMetaNamespace = 'Wikipedia'; $wgLanguageCode = 'en'; $wgLocaltimezone = 'UTC';
$wgServer = getenv( 'MW_LAB_SERVER' ) ?: 'http://127.0.0.1:8899';
$wgScriptPath = '/w'; $wgArticlePath = '/wiki/$1'; $wgUsePathInfo = true; $wgResourceBasePath = '/w';
$wgSecretKey = str_repeat( 'loopback', 8 ); $wgUpgradeKey = 'loopback'; $wgAuthenticationTokenVersion = '1';

// storage: SQLite, one file per use, so that cache writes never lock the pages
$wgDBtype = 'sqlite'; $wgDBname = 'wiki'; $wgDBserver = $wgDBuser = $wgDBpassword = ''; $wgSQLiteDataDir = "$lab/data";
$labDb = fn ( $name ) => [ 'type' => 'sqlite', 'dbname' => $name, 'tablePrefix' => '', 'variables' => [ 'synchronous' => 'OFF' ],
	'dbDirectory' => "$lab/data", 'trxMode' => 'IMMEDIATE', 'flags' => 0 ];
$wgObjectCaches[CACHE_DB] = [ 'class' => SqlBagOStuff::class, 'loggroup' => 'SQLBagOStuff', 'server' => $labDb( 'wikicache' ) ];
$wgObjectCaches['db-replicated'] = [ 'factory' => 'Wikimedia\ObjectFactory\ObjectFactory::getObjectFromSpec',
	'args' => [ [ 'factory' => 'ObjectCache::getInstance', 'args' => [ CACHE_DB ] ] ] ];
$wgJobTypeConf['default'] = [ 'class' => 'JobQueueDB', 'claimTTL' => 3600, 'server' => $labDb( 'wiki_jobqueue' ) ];
$wgDBservers = [ $labDb( 'wiki' ) + [ 'load' => 1 ] ]; $wgDBservers[0]['trxMode'] = ''; $wgDBservers[0]['flags'] = DBO_DEFAULT;
$wgMainCacheType = CACHE_ACCEL; $wgParserCacheType = CACHE_ACCEL; $wgMessageCacheType = CACHE_ACCEL; $wgSessionCacheType = CACHE_DB;
$wgCacheDirectory = "$lab/cache"; $wgLocalisationCacheConf['store'] = 'array'; $wgLocalisationCacheConf['storeDirectory'] = "$lab/cache";
$wgUploadDirectory = "$lab/images"; $wgTmpDirectory = sys_get_temp_dir();
$wgJobRunRate = 0; $wgPingback = false; $wgEnableEmail = false; $wgEnableUploads = false; $wgUseInstantCommons = false; $wgShowExceptionDetails = true; $wgShowHostnames = true;

// like Wikipedia
$wgMaxArticleSize = 6144;   // kB; Wikipedia has 2048, but we must see a page that is too large
$wgMiserMode = true; $wgCategoryCollation = 'uca-default-u-kn'; $wgNamespacesWithSubpages[NS_TEMPLATE] = true; $wgNamespacesWithSubpages[NS_MAIN] = false;
$wgExtraNamespaces += [ 100 => 'Portal', 101 => 'Portal_talk', 118 => 'Draft', 119 => 'Draft_talk', 710 => 'TimedText', 711 => 'TimedText_talk' ];
$wgNamespaceAliases += [ 'WP' => NS_PROJECT, 'WT' => NS_PROJECT_TALK ];
$wgGroupPermissions['sysop']['deleterevision'] = $wgGroupPermissions['sysop']['suppressrevision'] = $wgGroupPermissions['sysop']['deletelogentry'] = true;
$wgPasswordPolicy['policies']['default']['MinimalPasswordLength'] = 1;
wfLoadSkin( 'Vector' );
foreach ( [ 'CategoryTree', 'Cite', 'ImageMap', 'InputBox', 'Interwiki', 'Math', 'PageImages', 'ParserFunctions', 'Poem', 'Scribunto', 'SyntaxHighlight_GeSHi', 'TemplateData', 'TextExtracts', 'TitleBlacklist' ] as $labExt ) {
	wfLoadExtension( $labExt );
}
$wgScribuntoDefaultEngine = extension_loaded( 'luasandbox' ) ? 'luasandbox' : 'luastandalone';
$wgScribuntoEngineConf['luasandbox']['memoryLimit'] = 100 * 1024 * 1024;
$wgMathValidModes = [ 'source' ]; $wgDefaultUserOptions['math'] = 'source'; $wgMathDisableTexFilter = 'always';   // no Mathoid/RESTBase on loopback
$wgExtractsRemoveClasses = array_merge( $wgExtractsRemoveClasses ?? [], [ 'noexcerpt', 'nomobile' ] );
$wgParserEnableLegacyMediaDOM = false;   // <figure typeof="mw:File/Thumb">, as Wikipedia's HTML has had since 2023

// tags and functions of Wikipedia extensions that Debian does not ship, as quiet stand-ins (otherwise they show as text)
$wgHooks['ParserFirstCallInit'][] = static function ( Parser $parser ) {
	foreach ( [ 'templatestyles', 'timeline', 'score', 'graph', 'mapframe', 'maplink', 'hiero', 'section', 'chem', 'ce', 'phonos', 'languages' ] as $tag ) {
		if ( !in_array( $tag, $parser->getTags(), true ) ) { $parser->setHook( $tag, static fn () => '' ); }
	}
	foreach ( [ 'coordinates', 'property', 'statements', 'babel', 'lst', 'lsth', 'lstx', 'assessment' ] as $function ) {
		$parser->setFunctionHook( "lab_$function", static fn () => '', 0 );
	}
};
$wgTitleBlacklistSources = [];
$wgHooks['ScribuntoExternalLibraries'][] = static function ( $engine, array &$libraries ) use ( $lab ) {
	if ( $engine === 'lua' ) { require_once "$lab/wikibase.php"; $libraries['mw.wikibase'] = 'LabWikibase'; }
};
$wgExtensionMessagesFiles['LabMagic'] = "$lab/magic.php";

if ( is_readable( "$lab/settings.d.php" ) ) { require "$lab/settings.d.php"; }   // a test's own settings (read only mode, limits, lag …)
